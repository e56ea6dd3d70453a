// The curve: annealing from the identity code, random starts, and every code found tried at every beta.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/checks.hpp"
#include "base/random.hpp"
#include "information/bottleneck_run.hpp"
#include "isentropic/information/critical_beta.hpp"
#include "isentropic/information/distribution.hpp"

namespace isentropic::information {
namespace bottleneck {
namespace {

Table identity(std::size_t n) {
  Table out(n, n);
  for (std::size_t x = 0; x < n; ++x) out(x, x) = 1;
  return out;
}

Table random_encoder(std::size_t rows, std::size_t codes, Random* random) {
  Table out(rows, codes);
  for (std::size_t x = 0; x < rows; ++x) std::ranges::copy(random->probabilities(codes), out.row(x).begin());
  return out;
}

// A code that is constant except for a rare z with p(x|z) = r. With the r of the critical beta it beats the constant
// code for every beta up to the critical one, even where the constant code is already a local optimum that traps other
// starts.
Table rare_code(const Problem& problem, const std::vector<double>& r) {
  double share = 1;  // p(z): half of what p(z|x) <= 1 allows
  for (std::size_t x = 0; x < problem.inputs(); ++x)
    if (const double q = r[problem.support[x]]; q > 0) share = std::min(share, 0.5 * problem.px[x] / q);
  Table out(problem.inputs(), 2);
  for (std::size_t x = 0; x < problem.inputs(); ++x) {
    out(x, 0) = share * r[problem.support[x]] / problem.px[x];
    out(x, 1) = 1 - out(x, 0);
  }
  return out;
}

class CurveSearch {
 public:
  CurveSearch(const Problem& problem, std::span<const double> betas, const BottleneckOptions& options,
              const std::function<void(double)>& progress, Table rare_code)
      : problem_(problem),
        options_(options),
        progress_(progress),
        rare_code_(std::move(rare_code)),
        points_(betas.size()) {
    for (std::size_t i = 0; i < betas.size(); ++i) points_[i] = constant_code(betas[i]);
  }

  std::vector<BottleneckCode> find() {
    const double steps = static_cast<double>(3 * points_.size());
    double done = 0;
    const auto advance = [&] {
      if (progress_) progress_(++done / steps);
    };
    Table code = identity(problem_.inputs());
    double reached = 0;
    for (std::size_t i = 0; i < points_.size(); ++i, advance()) {
      code = annealed(std::move(code), reached, points_[i].beta);
      reached = points_[i].beta;
      code = try_start(i, code).encoder;
    }
    for (std::size_t i = 0; i < points_.size(); ++i) try_start(i, rare_code_);
    for (std::size_t i = 0; i < points_.size(); ++i, advance()) try_random_starts(i);
    for (std::size_t i = points_.size(); i-- > 0; advance()) try_codes_of_others(i);
    // A code found at one beta may help its neighbours; each round raises some J, and a third round is rare.
    for (bool improved = true; improved;) {
      improved = false;
      for (std::size_t i = 0; i < points_.size(); ++i) improved = try_codes_of_others(i) || improved;
    }
    return std::move(points_);
  }

 private:
  static constexpr double kBetter = 1e-12;
  static constexpr double kSame = 1e-7, kNearlySame = 1e-4;  // differences of p(y|z)

  // Codes only merge as beta grows, but a long step may skip the point where they should, so short steps are taken in
  // between, each converged roughly. From beta = 1 on there is nothing to follow.
  Table annealed(Table code, double from, double to) const {
    constexpr double kStep = 0.05;
    BottleneckOptions rough = options_;
    rough.tolerance = std::max(options_.tolerance, 1e-9);
    for (double beta = from + kStep; beta < std::min(to, 1.0); beta += kStep)
      code = compact(problem_, run(problem_, beta, code, rough).encoder, kSame);
    return code;
  }

  BottleneckCode constant_code(double beta) const {
    BottleneckCode out;
    out.beta = beta;
    out.encoder = Table(problem_.inputs(), 1, 1.0);
    out.converged = true;
    return out;
  }

  // Runs from an encoder and keeps the result if it is the best so far at this beta; returns the run's own. Codes that
  // have become equivalent are merged on the way, which makes the rest cheaper.
  BottleneckCode try_start(std::size_t i, const Table& start) {
    BottleneckOptions stretch = options_;
    stretch.most_iterations = std::min<std::size_t>(options_.most_iterations, 200);
    BottleneckCode code;
    code.encoder = start;
    for (std::size_t done = 0; done < options_.most_iterations && !code.converged;) {
      const double fallen = code.largest_decrease;
      code = run(problem_, points_[i].beta, compact(problem_, code.encoder, kSame), stretch);
      code.largest_decrease = std::max(code.largest_decrease, fallen);
      code.iterations = done += code.iterations;
    }
    tidy(&code, stretch);
    if (code.objective > points_[i].objective + kBetter) points_[i] = code;
    return code;
  }

  // Codes that are about to merge converge extremely slowly, so they are merged immediately if that costs nothing.
  void tidy(BottleneckCode* code, const BottleneckOptions& options) const {
    Table fewer = compact(problem_, code->encoder, kNearlySame);
    if (fewer.columns == code->encoder.columns) return;
    BottleneckCode joined = run(problem_, code->beta, fewer, options);
    if (joined.objective < code->objective - kBetter) return;
    joined.iterations += code->iterations;
    joined.largest_decrease = std::max(joined.largest_decrease, code->largest_decrease);
    *code = std::move(joined);
  }

  void try_random_starts(std::size_t i) {
    BottleneckOptions coarse = options_;  // most end below the best known; only promising ones are converged fully
    coarse.tolerance = std::max(options_.tolerance, 1e-9);
    const std::size_t codes = std::min(problem_.inputs(), problem_.py.size() + 2);
    for (std::size_t s = 0; s < options_.random_starts; ++s) {
      const Table start = random_encoder(problem_.inputs(), codes, &random_);
      const BottleneckCode code = run(problem_, points_[i].beta, start, coarse);
      if (code.objective > points_[i].objective - 1e-6) try_start(i, code.encoder);
    }
  }

  bool try_codes_of_others(std::size_t i) {
    const BottleneckCode* best = nullptr;
    double value = points_[i].objective + kBetter;
    for (const BottleneckCode& other : points_) {
      const Information information{other.information_x, other.information_y, other.entropy};
      const double here = objective(information, points_[i].beta, options_.kind);
      if (here > value) value = here, best = &other;
    }
    if (best == nullptr) return false;
    const double before = points_[i].objective;
    try_start(i, Table(best->encoder));
    return points_[i].objective > before + kBetter;
  }

  const Problem& problem_;
  const BottleneckOptions& options_;
  const std::function<void(double)>& progress_;
  Table rare_code_;
  std::vector<BottleneckCode> points_;
  Random random_{options_.seed};
};

struct PlanePoint {
  double x, y;
};

// The upper concave hull of points, by increasing x.
std::vector<PlanePoint> upper_hull(std::vector<PlanePoint> points) {
  std::ranges::sort(points,
                    [](const PlanePoint& a, const PlanePoint& b) { return std::pair(a.x, a.y) < std::pair(b.x, b.y); });
  std::vector<PlanePoint> hull;
  for (const PlanePoint& p : points) {
    while (hull.size() >= 2) {
      const PlanePoint &a = hull[hull.size() - 2], &b = hull.back();
      if ((b.y - a.y) * (p.x - a.x) > (p.y - a.y) * (b.x - a.x)) break;
      hull.pop_back();
    }
    hull.push_back(p);
  }
  return hull;
}

}  // namespace
}  // namespace bottleneck

BottleneckCurve bottleneck_curve(const Table& joint, std::span<const double> betas, const BottleneckOptions& options,
                                 const std::function<void(double)>& progress) {
  const bottleneck::Problem problem(joint);
  for (std::size_t i = 0; i < betas.size(); ++i) {
    const std::string argument = "betas[" + std::to_string(i) + "]";
    require_positive(argument, betas[i]);
    require(i == 0 || betas[i] > betas[i - 1], argument, betas[i], "increasing numbers");
  }
  BottleneckCurve out;
  out.kind = options.kind;
  out.information = mutual_information(joint);
  out.entropy_x = entropy(problem.px);
  out.entropy_y = entropy(problem.py);
  const bool known = !options.critical_input.empty();
  if (known) require_length("critical_input", options.critical_input.size(), joint.rows, "one for each row of joint");
  const Table rare = bottleneck::rare_code(problem, known ? options.critical_input : critical_beta(joint).input);
  out.points = bottleneck::CurveSearch(problem, betas, options, progress, rare).find();
  for (BottleneckCode& point : out.points) point.encoder = problem.with_unused(point.encoder, joint.rows);
  return out;
}

double BottleneckCurve::information_y_at(double information_x) const {
  if (!(information_x > 0)) return 0;
  if (information_x >= entropy_x) return information;
  std::vector<bottleneck::PlanePoint> all = {{0, 0}, {entropy_x, information}};
  for (const BottleneckCode& point : points) all.push_back({point.information_x, point.information_y});
  const std::vector<bottleneck::PlanePoint> hull = bottleneck::upper_hull(std::move(all));
  double best = 0;  // the hull may decrease at its end by rounding
  for (std::size_t i = 0; i + 1 < hull.size(); ++i) {
    const auto &a = hull[i], &b = hull[i + 1];
    if (information_x <= a.x) break;
    const double share = std::min(1.0, (information_x - a.x) / (b.x - a.x));
    best = std::max(best, a.y + share * (b.y - a.y));
  }
  return best;
}

double BottleneckCurve::price(const BottleneckCode& code) const {
  return kind == BottleneckKind::deterministic ? code.entropy : code.information_x;
}

BottleneckDefects defects(const BottleneckCurve& curve) {
  constexpr double kLeastStep = 1e-4;  // slopes over shorter steps are meaningless
  BottleneckDefects out;
  const auto raise = [](double* worst, double violation) { *worst = std::max(*worst, violation); };
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const BottleneckCode& code = curve.points[i];
    raise(&out.ceiling, code.information_y - std::min(code.information_x, curve.information));
    raise(&out.iteration, code.largest_decrease);
    if (i + 1 == curve.points.size()) break;
    const BottleneckCode& next = curve.points[i + 1];
    const double step_x = curve.price(code) - curve.price(next), step_y = code.information_y - next.information_y;
    raise(&out.monotone, -std::min(step_x, step_y));
    if (step_x <= kLeastStep) continue;
    raise(&out.slope, std::max(code.beta - step_y / step_x, step_y / step_x - next.beta));
  }
  return out;
}

}  // namespace isentropic::information
