// Searches for the largest ratio KL(rW || p_Y) / KL(r || p_X), the beta where the bottleneck opens.
#include "isentropic/information/critical_beta.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "information/bottleneck_problem.hpp"
#include "information/distributions/singular_values.hpp"

namespace isentropic::information {
namespace {

using bottleneck::Problem;

// The SVD of p(x,y) / sqrt(p(x) p(y)) over the values that occur. Its first singular value is 1, with vectors sqrt(p).
Eigen::BDCSVD<Eigen::MatrixXd> decompose(const Problem& problem, unsigned options) {
  Eigen::MatrixXd normalised(problem.inputs(), problem.py.size());
  for (std::size_t x = 0; x < problem.inputs(); ++x)
    for (std::size_t y = 0; y < problem.py.size(); ++y)
      normalised(static_cast<Eigen::Index>(x), static_cast<Eigen::Index>(y)) =
          problem.py[y] > 0 ? problem.channel(x, y) * std::sqrt(problem.px[x] / problem.py[y]) : 0;
  return Eigen::BDCSVD<Eigen::MatrixXd>(normalised, options);
}

double second_squared(const Eigen::VectorXd& singular_values) {
  return singular_values.size() < 2 ? 0 : std::min(1.0, singular_values(1) * singular_values(1));
}

// Climbs KL(rW || p_Y) / KL(r || p_X). With the ratio fixed at its current value, KL(rW||p_Y) - ratio KL(r||p_X) is 0
// at r; the convex first term lies above its tangent, and the tangent minus the second term is maximised by the next r.
class Ascent {
 public:
  Ascent(const Problem& problem, std::size_t starts, const std::function<void(double)>& progress)
      : problem_(problem), starts_(static_cast<double>(starts)), progress_(progress) {}

  // Climbs briefly; only the best few are kept.
  void start_from(std::vector<double> r) {
    constexpr int kFirstSteps = 30;
    constexpr std::size_t kKept = 8;
    kept_.push_back(climb(std::move(r), kFirstSteps));
    std::ranges::sort(kept_, std::ranges::greater{}, &Summit::ratio);
    if (kept_.size() > kKept) kept_.pop_back();
    if (progress_) progress_(std::min(1.0, ++done_ / starts_));
  }

  struct Summit {
    double ratio = 0;
    std::vector<double> input;
  };

  // The highest summit, after climbing the kept ones to convergence.
  Summit highest() {
    constexpr int kMostSteps = 5000;
    Summit best{0, problem_.px};
    for (Summit& summit : kept_) {
      Summit end = climb(std::move(summit.input), kMostSteps);
      if (end.ratio > best.ratio) best = std::move(end);
    }
    return best;
  }

 private:
  Summit climb(std::vector<double> r, int most_steps) {
    double ratio = ratio_of(r);
    for (int step = 0; step < most_steps && ratio > 0; ++step) {
      std::vector<double> next = step_from(ratio);
      const double higher = ratio_of(next);
      if (higher <= ratio * (1 + 1e-12)) break;
      ratio = higher;
      r = std::move(next);
    }
    return {ratio, std::move(r)};
  }

  // 0 if r is so near p_X that this would be a ratio of rounding errors; rho^2 covers the limit.
  double ratio_of(const std::vector<double>& r) {
    constexpr double kTooNear = 1e-9;
    output_.assign(problem_.py.size(), 0.0);
    double below = 0, above = 0;
    for (std::size_t x = 0; x < r.size(); ++x) {
      if (r[x] == 0) continue;
      below += r[x] * std::log(r[x] / problem_.px[x]);
      for (std::size_t y = 0; y < output_.size(); ++y) output_[y] += r[x] * problem_.channel(x, y);
    }
    for (std::size_t y = 0; y < output_.size(); ++y)
      if (output_[y] > 0) above += output_[y] * std::log(output_[y] / problem_.py[y]);
    return below < kTooNear ? 0 : above / below;
  }

  // r(x) ~ p(x) exp(sum_y W(y|x) log(q(y) / p(y)) / ratio), for the outputs q of the last call of ratio_of.
  std::vector<double> step_from(double ratio) const {
    std::vector<double> score(problem_.inputs()), gain(output_.size());
    for (std::size_t y = 0; y < gain.size(); ++y) gain[y] = std::log(output_[y] / problem_.py[y]);
    for (std::size_t x = 0; x < score.size(); ++x) {
      double sum = 0;
      for (std::size_t y = 0; y < gain.size(); ++y)
        if (const double w = problem_.channel(x, y); w > 0) sum += w * gain[y];
      score[x] = std::log(problem_.px[x]) + sum / ratio;  // -inf: x leads to outputs that r never reaches
    }
    const double most = *std::ranges::max_element(score);
    double total = 0;
    for (double& s : score) total += s = std::exp(s - most);
    for (double& s : score) s /= total;
    return score;
  }

  const Problem& problem_;
  double starts_, done_ = 0;
  const std::function<void(double)>& progress_;
  std::vector<Summit> kept_;
  std::vector<double> output_;
};

std::vector<double> normalised(std::vector<double> r) {
  double sum = 0;
  for (double p : r) sum += p;
  for (double& p : r) p /= sum;
  return r;
}

void climb_from_corners(const Problem& problem, Ascent* ascent) {
  for (std::size_t x = 0; x < problem.inputs(); ++x) {
    std::vector<double> r(problem.inputs(), 0.0);
    r[x] = 1;
    ascent->start_from(r);
    for (double& p : r) p += 0.05;  // an interior point too, because a corner may miss some outputs
    ascent->start_from(normalised(r));
  }
  for (std::size_t y = 0; y < problem.py.size(); ++y) {
    if (problem.py[y] == 0) continue;
    std::vector<double> r(problem.inputs());
    for (std::size_t x = 0; x < r.size(); ++x) r[x] = problem.px[x] * problem.channel(x, y);
    ascent->start_from(normalised(std::move(r)));
  }
}

void climb_along(const Eigen::MatrixXd& vectors, const Problem& problem, Ascent* ascent) {
  for (Eigen::Index k = 1; k < vectors.cols(); ++k)
    for (const double side : {-1.0, 1.0}) {
      std::vector<double> r(problem.inputs());
      for (std::size_t x = 0; x < r.size(); ++x) {
        const double direction = vectors(static_cast<Eigen::Index>(x), k) / std::sqrt(problem.px[x]);
        r[x] = problem.px[x] * std::max(1e-6, 1 + side * 0.5 * direction);
      }
      ascent->start_from(normalised(std::move(r)));
    }
}

}  // namespace

double squared_maximal_correlation(const Table& joint) {
  return second_squared(decompose(Problem(joint), 0).singularValues());
}

CriticalBeta critical_beta(const Table& joint, std::size_t random_starts, std::uint64_t seed,
                           const std::function<void(double)>& progress) {
  const Problem problem(joint);
  const auto svd = decompose(problem, Eigen::ComputeThinU);
  const auto vectors = static_cast<std::size_t>(svd.matrixU().cols());
  Ascent ascent(problem, 2 * problem.inputs() + problem.py.size() + 2 * vectors + random_starts, progress);
  climb_from_corners(problem, &ascent);
  climb_along(svd.matrixU(), problem, &ascent);
  Random random(seed);
  for (std::size_t s = 0; s < random_starts; ++s) {
    std::vector<double> r = random.probabilities(problem.inputs());
    if (s % 2 == 1)  // half of them near the edges of the simplex
      for (double& p : r) p = p * p * p * p;
    ascent.start_from(normalised(std::move(r)));
  }

  const Ascent::Summit highest = ascent.highest();
  CriticalBeta out;
  out.local = second_squared(svd.singularValues());
  out.global = std::max(out.local, std::min(1.0, highest.ratio));
  const std::vector<double>& used = highest.ratio > out.local ? highest.input : problem.px;
  out.input.assign(joint.rows, 0.0);
  for (std::size_t x = 0; x < used.size(); ++x) out.input[problem.support[x]] = used[x];
  return out;
}

}  // namespace isentropic::information
