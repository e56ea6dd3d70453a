// Linear features: why no scale keeps their entropy constant, and what does.
#include "isentropic/theory/linear_features.hpp"

#include <fmt/format.h>

#include "isentropic/information/distribution.hpp"
#include "isentropic/theory/random_energy.hpp"
#include "isentropic/theory/random_scores.hpp"
#include "ledger/invariance/drawn.hpp"
#include "ledger/invariance/subjects.hpp"

namespace isentropic::ledger::invariance {
namespace {

constexpr std::size_t kFeatures = 4, kQueries = 24;

Table linear_weights(const Table& q, const Table& k, Feature feature, const Scale& scale = Scale::constant(1.0)) {
  return weights_of(q, k, {.query = {}, .key = {}, .scale = scale, .map = ScoreMap::linear(feature)});
}

Mean entropies_of(const Table& weights) {
  Mean out;
  for (std::size_t i = 0; i < weights.rows; ++i) {
    double h = 0;
    for (const double w : weights.row(i)) h -= w > 0 ? w * std::log(w) : 0;
    out.add(h);
  }
  return out;
}

void no_scale_can(Check& check) {
  double worst = 0;
  for (const Feature feature : {Feature::elu_plus_one, Feature::relu, Feature::exp}) {
    const Table q = normal_table(check.random(), 5, kFeatures), k = normal_table(check.random(), 100, kFeatures);
    const Table once = linear_weights(q, k, feature);
    for (const Scale& scale : {Scale::log_n(), Scale::log_n_sqrt_d(7.0), Scale::constant(1e-3)})
      worst = std::max(worst, difference(once.values, linear_weights(q, k, feature, scale).values));
  }
  check.near("weights under any scale less those without", worst, 0, 1e-14);
}

// A single exp feature: x = e^g, so the deficit is known.
void slope_of_fixed_features(Check& check) {
  std::vector<double> x, y;
  for (const int k : {8, 10, 12}) {
    const std::size_t n = std::size_t{1} << k;
    Mean h;
    for (std::int64_t set = 0; set < check.effort(40, 400); ++set)
      h.add(entropies_of(linear_weights(Table(1, 1, 1.0), normal_table(check.random(), n, 1), Feature::exp)).mean());
    x.push_back(std::log(static_cast<double>(n))), y.push_back(h.mean());
    check.near(fmt::format("H of one exp feature, n = {}", n), h.estimate(), x.back() - lognormal_entropy_deficit(1),
               0.03);
  }
  check.near("slope dH/dlog n of a fixed feature map", slope(x, y), 1, 0.05);
  // Several features: the deficit is measured on other keys.
  Table q = normal_table(check.random(), 1, kFeatures);
  for (double& v : q.values) v = std::abs(v);  // relu of a negative query is 0
  const std::vector<double> sample =
      linear_weights(q, normal_table(check.random(), 20000, kFeatures), Feature::relu).values;
  const std::size_t n = 4000;
  const double h = entropies_of(linear_weights(q, normal_table(check.random(), n, kFeatures), Feature::relu)).mean();
  check.near("H of four relu features against log n - D", h, std::log(n) - entropy_deficit(sample), 0.06);
}

// Keys multiplied by tau(n) before phi = exp: each column is a softmax row in its frozen phase.
void sharper_features(Check& check) {
  const double target = 1;
  std::vector<double> x, fixed, sharpened;
  for (const int k : {6, 8, 10, 12}) {
    const std::size_t n = std::size_t{1} << k;
    const double log_n = k * std::log(2.0), tau = feature_sharpening(log_n, target);
    Mean plain, sharp;
    const double column = expected_row(ScoreLaw::gaussian(), log_n, tau).entropy;
    for (std::int64_t set = 0; set < check.effort(12, 120); ++set) {
      const Table q = normal_table(check.random(), kQueries, kFeatures);
      Table keys = normal_table(check.random(), n, kFeatures);
      plain.add(entropies_of(linear_weights(q, keys, Feature::exp)).mean());
      for (double& v : keys.values) v *= tau;
      sharp.add(entropies_of(linear_weights(q, keys, Feature::exp)).mean());
    }
    check.at_most(fmt::format("H of sharpened features, n = {}, against its columns + log m", n), sharp.mean(),
                  column + std::log(kFeatures));
    x.push_back(log_n), fixed.push_back(plain.mean()), sharpened.push_back(sharp.mean());
  }
  check.at_least("slope with fixed exp features", slope(x, fixed), 0.8);
  check.near("slope with keys times c sqrt(2 log n)", slope(x, sharpened), 0, 0.15);
  std::vector<double> lengths;
  for (const double log_n : x) lengths.push_back(std::exp(log_n));
  check.plot({"Linear attention, four exp features",
              "n",
              "H (nats)",
              report::PlotScale::log,
              {},
              {{"fixed features", lengths, fixed}, {"keys times c sqrt(2 log n)", lengths, sharpened}}});
}

// a ~ x^gamma is softmax(gamma log x).
void powers(Check& check) {
  std::vector<double> x(50), logs;
  for (double& v : x) v = check.random().exponential(), logs.push_back(std::log(v));
  const double gamma = 3;
  double sum = 0;
  for (const double v : x) sum += std::pow(v, gamma);
  std::vector<double> weights;
  for (const double v : x) weights.push_back(std::pow(v, gamma) / sum);
  check.near("H of x^3 weights less that of softmax(3 log x)", information::entropy(weights) - entropy_of(logs, gamma),
             0, 1e-12);
  // The gamma that keeps H at 1.5.
  for (const std::size_t n : {64u, 1024u}) {
    std::vector<double> positive(n), scores;
    for (double& v : positive) v = check.random().exponential(), scores.push_back(std::log(v));
    EntropySolver solver(1.5, static_cast<std::int64_t>(n), 1, 1e-10);
    while (solver.active()) {
      const Record record = record_of(scores, solver.lambda());
      solver.update(entropy(record), score_variance(record));
    }
    sum = 0, weights.clear();
    for (const double v : positive) sum += std::pow(v, solver.lambda());
    for (const double v : positive) weights.push_back(std::pow(v, solver.lambda()) / sum);
    check.near(fmt::format("H of x^gamma weights at the solved gamma, n = {}", n), information::entropy(weights), 1.5,
               1e-8);
  }
}

// Sums over the keys, kept per feature: phi(q).(sum_j phi(k_j) v_j) / phi(q).(sum_j phi(k_j)), O(n).
void one_pass(Check& check) {
  const std::size_t n = 256;
  const double tau = feature_sharpening(std::log(n), 1);
  const Table q = normal_table(check.random(), 5, kFeatures), v = normal_table(check.random(), n, 1);
  Table keys = normal_table(check.random(), n, kFeatures);
  for (double& x : keys.values) x *= tau;
  std::vector<double> mass(kFeatures, 0.0), content(kFeatures, 0.0), output;
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t f = 0; f < kFeatures; ++f) {
      mass[f] += std::exp(keys(j, f));
      content[f] += std::exp(keys(j, f)) * v(j, 0);
    }
  for (std::size_t i = 0; i < q.rows; ++i) {
    double above = 0, below = 0;
    for (std::size_t f = 0; f < kFeatures; ++f)
      above += std::exp(q(i, f)) * content[f], below += std::exp(q(i, f)) * mass[f];
    output.push_back(above / below);
  }
  const AttentionResult result = attend(
      q, keys, v, {.query = {}, .key = {}, .scale = Scale::constant(1.0), .map = ScoreMap::linear(Feature::exp)});
  check.near("sharpened features: output less that of sums kept in one pass",
             difference(result.output.to_doubles(), output), 0, 1e-12);
}

}  // namespace

void linear_attention(Check& check) {
  no_scale_can(check);
  slope_of_fixed_features(check);
  sharper_features(check);
  powers(check);
  one_pass(check);
}

}  // namespace isentropic::ledger::invariance
