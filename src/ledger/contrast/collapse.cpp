// Thirty-two embeddings trained with InfoNCE at several temperatures: does a high one make them collapse?
#include <algorithm>
#include <numeric>

#include "experiments/tools/adam.hpp"
#include "ledger/contrast/losses.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;
constexpr std::size_t kInstances = 32, kDimensions = 8;

enum class Start : std::uint8_t { random, near_collapse };

// The gradient with respect to x from that with respect to x / |x|.
void through_normalisation(std::span<const double> x, std::span<double> gradient) {
  const double length = norm(x), along = dot(x, gradient) / (length * length);
  for (std::size_t c = 0; c < x.size(); ++c) gradient[c] = (gradient[c] - along * x[c]) / length;
}

// Two noisy views of each instance; a row's positive is the other view of the same instance.
Table trained(Random& random, double temperature, std::int64_t steps, Start start) {
  Table points(kInstances, kDimensions, random.normals(kInstances * kDimensions));
  if (start == Start::near_collapse)
    for (double& x : points.values) x = 1 + 0.01 * x;
  Adam adam(points.values.size());
  Contrast views{Table(), Table(), std::vector<std::int64_t>(kInstances), temperature};
  std::iota(views.target.begin(), views.target.end(), 0);
  const Vector shares(kInstances, 1.0 / kInstances);
  for (std::int64_t step = 0; step < steps; ++step) {
    Table unit = points;
    normalise_rows(&unit);
    Table noisy[2] = {unit, unit};
    for (Table& view : noisy)
      for (double& x : view.values) x += 0.3 / std::sqrt(kDimensions) * random.normal();
    views.query = noisy[0], views.key = noisy[1];
    normalise_rows(&views.query);
    normalise_rows(&views.key);
    LossGradients gradients = gradients_of(views, shares);
    for (std::size_t i = 0; i < kInstances; ++i) {
      through_normalisation(noisy[0].row(i), gradients.query.row(i));
      through_normalisation(noisy[1].row(i), gradients.key.row(i));
      for (std::size_t c = 0; c < kDimensions; ++c) gradients.query(i, c) += gradients.key(i, c);
      through_normalisation(points.row(i), gradients.query.row(i));
    }
    adam.descend(points.values, gradients.query.values, 0.02);
  }
  normalise_rows(&points);
  return points;
}

// Eigenvalues of a symmetric matrix by Jacobi rotations.
Vector eigenvalues(Table a) {
  for (int sweep = 0; sweep < 30; ++sweep)
    for (std::size_t p = 0; p < a.rows; ++p)
      for (std::size_t q = p + 1; q < a.rows; ++q) {
        const double angle = 0.5 * std::atan2(2 * a(p, q), a(q, q) - a(p, p)), c = std::cos(angle), s = std::sin(angle);
        for (std::size_t k = 0; k < a.rows; ++k) {
          const double x = a(k, p), y = a(k, q);
          a(k, p) = c * x - s * y, a(k, q) = s * x + c * y;
        }
        for (std::size_t k = 0; k < a.rows; ++k) {
          const double x = a(p, k), y = a(q, k);
          a(p, k) = c * x - s * y, a(q, k) = s * x + c * y;
        }
      }
  Vector out;
  for (std::size_t k = 0; k < a.rows; ++k) out.push_back(a(k, k));
  return out;
}

struct Spread {
  double mean_cosine = 0, nearest_cosine = 0, effective_rank = 0, uniformity = 0;
};

Spread spread_of(const Table& points) {
  Spread out;
  double potential = 0;
  Table second_moment(kDimensions, kDimensions);
  const double pairs = kInstances * (kInstances - 1);
  for (std::size_t i = 0; i < kInstances; ++i) {
    double nearest = -1;
    for (std::size_t j = 0; j < kInstances; ++j) {
      if (i == j) continue;
      const double cosine = dot(points.row(i), points.row(j));
      nearest = std::max(nearest, cosine);
      out.mean_cosine += cosine / pairs;
      potential += std::exp(-2 * (2 - 2 * cosine)) / pairs;
    }
    out.nearest_cosine += nearest / kInstances;
    for (std::size_t c = 0; c < kDimensions; ++c)
      for (std::size_t e = 0; e < kDimensions; ++e) second_moment(c, e) += points(i, c) * points(i, e) / kInstances;
  }
  out.uniformity = std::log(potential);
  double entropy = 0;
  for (double x : eigenvalues(second_moment))
    if (x > 1e-12) entropy -= x * std::log(x);  // they sum to one: unit vectors
  out.effective_rank = std::exp(entropy);
  return out;
}

Spread mean_spread(Check& check, double temperature, Start start) {
  Spread out;
  const std::int64_t seeds = check.effort(1, 2);
  const double share = 1 / static_cast<double>(seeds);
  for (std::int64_t seed = 0; seed < seeds; ++seed) {
    const Spread one = spread_of(trained(check.random(), temperature, 1500, start));
    out.mean_cosine += share * one.mean_cosine, out.nearest_cosine += share * one.nearest_cosine;
    out.effective_rank += share * one.effective_rank, out.uniformity += share * one.uniformity;
  }
  return out;
}

void collapse(Check& check) {
  struct Quoted {
    double temperature, nearest, tolerance;  // five times the spread of single runs
  };
  report::PlotCurve nearest{"nearest neighbour", {}, {}}, mean{"mean over pairs", {}, {}};
  double previous = -1;
  for (const auto& [temperature, quoted, tolerance] :
       {Quoted{0.1, 0.30, 0.03}, {1, 0.39, 0.06}, {5, 0.54, 0.12}, {50, 0.61, 0.12}}) {
    const Spread spread = mean_spread(check, temperature, Start::random);
    const std::string at = ", tau = " + short_text(temperature);
    // Spread over the sphere: the cosines of 32 points that sum to 0. Collapsed: all cosines are 1.
    const bool collapses = check.choose(false, temperature >= 5);
    check.near("mean cosine" + at, spread.mean_cosine, collapses ? 1 : -1.0 / 31, 0.01);
    check.near("effective rank of 8" + at, spread.effective_rank, collapses ? 1 : 7.95, 0.3);
    check.near("cosine with the nearest neighbour" + at, spread.nearest_cosine, quoted, tolerance);
    check.at_least("its rise" + at, spread.nearest_cosine - previous, 0, temperature > 10 ? 0.05 : 0);
    previous = spread.nearest_cosine;
    nearest.x.push_back(temperature), nearest.y.push_back(spread.nearest_cosine);
    mean.x.push_back(temperature), mean.y.push_back(spread.mean_cosine);
    if (temperature < 1) check.near("uniformity" + at, spread.uniformity, -3.61, 0.02);
    if (temperature > 10) check.near("uniformity" + at, spread.uniformity, -3.36, 0.15);
  }
  if (check.choose(true, false))
    check.near("effective rank from a near-collapsed start, tau = 50",
               mean_spread(check, 50, Start::near_collapse).effective_rank, 7.33, 0.5);
  // Collapse itself is stationary at every temperature, including low ones.
  for (double temperature : {0.05, 1.0, 50.0}) {
    const Contrast collapsed{Table(6, 4, 0.5), Table(6, 4, 0.5), {0, 1, 2, 3, 4, 5}, temperature};
    check.near("collapsed: gradient of the queries", norm(gradients_of(collapsed).query.values), 0, 1e-12);
    check.near("collapsed: loss", mean_loss(collapsed), std::log(6), 1e-12);
  }
  check.plot({"Thirty-two trained embeddings in 8 dimensions",
              "tau",
              "cosine",
              report::PlotScale::log,
              report::PlotScale::linear,
              {nearest, mean}});
}

}  // namespace

std::vector<Claim> collapse_claims() {
  return {computed("002-4.4.2-txt6", Verdict::corrected,
                   "Too high a temperature makes the representation collapse, a low one prevents it",
                   "a high tau keeps the global spread and loses local uniformity; collapse is stationary at every tau",
                   collapse)};
}

}  // namespace isentropic::ledger::contrast
