// Linear attention over non-negative features.
#include <fmt/format.h>

#include <cmath>

#include "experiments/sparsity/measure.hpp"
#include "experiments/tools/estimate.hpp"
#include "ledger/concentration/subjects.hpp"

namespace isentropic::ledger::concentration {
namespace {

using experiments::sparsity::measure;

double apply(Feature feature, double x) {
  switch (feature) {
    case Feature::relu:
      return std::max(x, 0.0);
    case Feature::elu_plus_one:
      return x > 0 ? x + 1 : std::exp(x);
    case Feature::exp:
      return std::exp(x);
    case Feature::identity:
      break;
  }
  return x;
}

// The formula with the sample mean and covariance of these keys.
double from_moments(std::span<const double> query, const Table& keys) {
  const std::size_t d = keys.columns;
  const double n = static_cast<double>(keys.rows);
  std::vector<double> mean(d);
  Table covariance(d, d);
  for (std::size_t r = 0; r < keys.rows; ++r)
    for (std::size_t i = 0; i < d; ++i) mean[i] += keys(r, i) / n;
  for (std::size_t r = 0; r < keys.rows; ++r)
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) covariance(i, j) += (keys(r, i) - mean[i]) * (keys(r, j) - mean[j]) / n;
  return sparsity_of_features(query, mean, covariance);
}

// Correlated keys: x = e A + 0.2 with A = I + 0.3 noise.
Table correlated(Check& check, std::size_t n, std::size_t d) {
  Table mix(d, d, check.random().normals(d * d, 0.3)), out(n, d, 0.2);
  for (std::size_t i = 0; i < d; ++i) mix(i, i) += 1;
  for (std::size_t r = 0; r < n; ++r) {
    const std::vector<double> e = check.random().normals(d);
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) out(r, j) += e[i] * mix(i, j);
  }
  return out;
}

void non_negative(Check& check) {
  const std::size_t d = 6, n = static_cast<std::size_t>(check.effort(5000, 400000));
  const std::pair<const char*, Feature> features[] = {
      {"relu", Feature::relu}, {"elu + 1", Feature::elu_plus_one}, {"exp", Feature::exp}};
  for (const auto& [name, feature] : features) {
    const Table keys = correlated(check, n, d);
    const std::vector<double> query = check.random().normals(d);
    Table mapped_keys = keys;
    std::vector<double> mapped_query = query;
    for (double& x : mapped_keys.values) x = apply(feature, x);
    for (double& x : mapped_query) x = apply(feature, x);
    check.near(fmt::format("S over {} features", name),
               measure(query, keys, ScoreMap::linear(feature, Normaliser::none)).sparsity,
               from_moments(mapped_query, mapped_keys), 1e-10);
  }
  // The kernel has no sigmoid feature, so the keys here are the features themselves.
  Mean found, formula;
  for (std::int64_t t = 0; t < 40; ++t) {
    Table keys = correlated(check, 2000, d);
    for (double& x : keys.values) x = 1 / (1 + std::exp(-x));
    std::vector<double> query = check.random().normals(d);
    for (double& x : query) x = 1 / (1 + std::exp(-x));
    if (t == 0)
      check.near("S over sigmoid features", measure(query, keys, kProduct).sparsity, from_moments(query, keys), 1e-10);
    const std::vector<double> mixed = {1, -1, 0.5, 0, 0, 0};
    found.add(measure(mixed, keys, kProduct).sparsity), formula.add(from_moments(mixed, keys));
  }
  // Quoted for the query (1, -1, 1/2) over one such sample.
  check.as_quoted("sigmoid features, signed query: S, quoted", found, 0.818, 1);
  check.as_quoted("sigmoid features, signed query: the formula, quoted", formula, 0.663, 1);
  // Without the condition of non-negative products: with q = (1, -1, 1/2) over exponential keys the formula gives
  // 1/sqrt(10), and the kernel more.
  Table keys(n, 3);
  for (double& x : keys.values) x = check.random().exponential();
  const std::vector<double> query = {1, -1, 0.5};
  check.at_least("signed query: S less the formula",
                 measure(query, keys, kProduct).sparsity - from_moments(query, keys), 0.1);
}

// A feature that is 1 with probability p, else 0: variance/mean^2 = (1-p)/p, S = sqrt p.
void noise_to_signal(Check& check) {
  const std::size_t n = static_cast<std::size_t>(check.effort(50000, 1000000));
  const std::vector<double> query = {1};
  for (const double p : {0.1, 0.01, 0.001}) {
    Table keys(n, 1);
    for (double& x : keys.values) x = check.random().uniform() < p;
    // S^2 is the fraction of ones itself.
    check.near(fmt::format("S of a feature present with probability {}", p), measure(query, keys, kProduct).sparsity,
               std::sqrt(p), 5 * std::sqrt((1 - p) / static_cast<double>(n)) / 2);
    for (double& x : keys.values) x *= 10;
    Table unit = keys;
    for (double& x : unit.values) x /= 10;
    check.near(fmt::format("S of ten times the feature, probability {}", p), measure(query, keys, kProduct).sparsity,
               measure(query, unit, kProduct).sparsity, 1e-12);
  }
}

// S of a query over keys whose features are independent draws.
template <class Draw>
Estimate over_keys(std::span<const double> query, std::size_t n, std::int64_t draws, Draw&& draw) {
  return mean_of(draws, [&] {
    Table keys(n, query.size());
    for (double& x : keys.values) x = draw();
    return measure(query, keys, kProduct).sparsity;
  });
}

// Exponential features: mean and deviation 1.
Estimate over_exponential(Check& check, std::span<const double> query, std::size_t n, std::int64_t draws) {
  return over_keys(query, n, draws, [&] { return check.random().exponential(); });
}

std::vector<double> one_hot(std::size_t d) {
  std::vector<double> out(d, 0.0);
  out[0] = 1;
  return out;
}

void independent(Check& check) {
  const std::size_t n = 500;
  for (const std::size_t d : {4u, 16u, 64u, 256u}) {
    std::vector<double> random(d);
    for (double& x : random) x = check.random().exponential();
    const std::pair<const char*, std::vector<double>> queries[] = {
        {"equal", std::vector<double>(d, 1.0)}, {"one-hot", one_hot(d)}, {"random", random}};
    for (const auto& [name, query] : queries)
      check.near(fmt::format("S of {} q, d = {}", name, d), over_exponential(check, query, n, check.effort(20, 400)),
                 sparsity_of_independent_features(query, 1, 1), 0.004);
  }
  // Other laws and other queries with the same quotient, (deviation/mean) |q|_2/|q|_1 = 1/2.
  const double same = 1 / std::sqrt(1.25);
  Random& random = check.random();
  const std::int64_t draws = check.effort(20, 400);
  check.near("S of features 0 or 1, of which a fifth 1, equal q, d = 16",
             over_keys(std::vector<double>(16, 1.0), n, draws, [&] { return random.uniform() < 0.2 ? 1.0 : 0.0; }),
             same, 0.004);
  check.near("S of exponential features, equal q, d = 4",
             over_keys(std::vector<double>(4, 1.0), n, draws, [&] { return random.exponential(); }), same, 0.004);
  check.near("S of features uniform on [1 - sqrt(3/4), 1 + sqrt(3/4)], one-hot q, d = 4",
             over_keys(one_hot(4), n, draws, [&] { return random.uniform(1 - std::sqrt(0.75), 1 + std::sqrt(0.75)); }),
             same, 0.004);
}

// |q|_2 / |q|_1 of weights q is 1 / sqrt(participation).
void ratio_of_norms(Check& check) {
  const std::size_t d = 16;
  double largest = 0, smallest = 2;
  const auto look = [&](const std::vector<double>& q) {
    const double ratio = 1 / std::sqrt(measure(q, ScoreMap::identity()).participation);
    largest = std::max(largest, ratio), smallest = std::min(smallest, ratio);
  };
  look(one_hot(d));
  look(std::vector<double>(d, 0.3));
  for (std::int64_t t = 0; t < check.effort(2000, 100000); ++t) {
    std::vector<double> q(d);
    const double power = check.random().uniform(0.1, 12);
    for (double& x : q) x = std::pow(check.random().exponential(), power);
    look(q);
  }
  check.near("largest |q|_2/|q|_1 found, d = 16", largest, check.choose(1.0, std::sqrt(16.0)), 1e-12);
  check.near("smallest", smallest, 1 / std::sqrt(16.0), 1e-12);
}

// Equal coordinates: S = 1/sqrt(1 + 1/d), not the 1/sqrt(1 + d) of a ratio of norms sqrt d.
void dimension(Check& check) {
  std::vector<double> sizes, dense, formula, printed;
  for (const auto& [d, quoted] : {std::pair{std::size_t{4}, 0.894},
                                  {std::size_t{16}, 0.970},
                                  {std::size_t{64}, 0.992},
                                  {std::size_t{256}, 0.998}}) {
    const std::vector<double> query(d, 1.0);
    const double right = sparsity_of_independent_features(query, 1, 1);
    const double wrong = 1 / std::sqrt(1 + static_cast<double>(d));
    const Estimate found = over_exponential(check, query, 500, check.effort(20, 400));
    check.near(fmt::format("S of equal q, d = {}", d), found, check.choose(right, wrong), 0.004);
    check.near(fmt::format("S of equal q to three digits, d = {}", d), right, quoted, 6e-4);
    check.near(fmt::format("S of one-hot q, d = {}", d),
               over_exponential(check, one_hot(d), 500, check.effort(20, 400)), std::sqrt(0.5), 0.004);
    sizes.push_back(static_cast<double>(d)), dense.push_back(found.mean);
    formula.push_back(right), printed.push_back(wrong);
  }
  check.plot({"S of linear attention against the number of features",
              "d",
              "S",
              report::PlotScale::log,
              report::PlotScale::linear,
              {{"kernel, equal q", sizes, dense, report::CurveStyle::measured},
               {"1/sqrt(1 + 1/d)", sizes, formula, report::CurveStyle::formula},
               {"as printed: 1/sqrt(1 + d)", sizes, printed, report::CurveStyle::bound}}});
}

}  // namespace

std::vector<Claim> features_claims() {
  return {computed("004-8", Verdict::holds, "Linear attention over non-negative features: S = 1/sqrt(1 + q'Cq/(q.m)^2)",
                   "exact wherever q.k >= 0, m and C the mean and covariance of the features", non_negative),
          computed("004-8b", Verdict::holds,
                   "Linear attention gets sparse when the features' noise grows against their mean",
                   "what counts is the quotient q'Cq/(q.m)^2: scaling the features changes nothing", noise_to_signal),
          listed("004-8c", Verdict::view,
                 "Non-negative features with little signal are mostly alike, so only absolute positions can stand out",
                 "a heuristic"),
          computed("004-9", Verdict::holds,
                   "Over independent features of one law S depends on (deviation/mean)(|q|_2/|q|_1) alone", "q >= 0",
                   independent),
          computed("004-9b", Verdict::corrected, "|q|_2/|q|_1 is at most sqrt d",
                   "it lies in [1/sqrt d, 1]: at most 1, for one coordinate alone; sqrt d bounds the inverse",
                   ratio_of_norms),
          computed("004-9c", Verdict::corrected, "Linear attention over d independent features gets sparser as d grows",
                   "less sparse for a dense query, S = 1/sqrt(1 + 1/d); a one-hot query has S = .707 for every d",
                   dimension)};
}

}  // namespace isentropic::ledger::concentration
