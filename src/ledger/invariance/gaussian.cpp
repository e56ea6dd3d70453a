// Sections 11 and 12: weights seen from the maximum, and Gaussian scores for many keys.
#include <fmt/format.h>

#include <algorithm>

#include "isentropic/theory/random_energy.hpp"
#include "isentropic/theory/random_scores.hpp"
#include "isentropic/theory/scale_laws.hpp"
#include "ledger/invariance/drawn.hpp"
#include "ledger/invariance/subjects.hpp"

namespace isentropic::ledger::invariance {
namespace {

void weights_from_the_maximum(Check& check) {
  const double lambda = 1.4;
  const std::vector<double> s = check.random().normals(1000);
  const std::vector<double> p = weights_of(s, lambda);
  const std::size_t top = static_cast<std::size_t>(std::max_element(s.begin(), s.end()) - s.begin());
  double others = 0, rest = 0, mean = 0;
  for (std::size_t j = 0; j < s.size(); ++j)
    if (j != top) others += std::exp(lambda * (s[j] - s[top]));
  double worst = std::abs(p[top] - 1 / (1 + others));
  for (std::size_t j = 0; j < s.size(); ++j) {
    worst = std::max(worst, std::abs(p[j] - std::exp(lambda * (s[j] - s[top])) / (1 + others)));
    mean += p[j] * s[j];
    if (j != top) rest += p[j] * s[j];
  }
  check.near("largest error of a weight", worst, 0, 1e-14);
  check.near("E_p s less its two parts", mean - (p[top] * s[top] + rest), 0, 1e-14);
  check.near("E_p s by the kernel", mean_score(record_of(s, lambda)) / lambda, mean, 1e-13);
}

void tilted_mean(Check& check) {
  const RowMeans rows = gaussian_rows(check, 1000, 1, check.effort(100, 3000));
  check.near("E_p s at lambda = 1", rows.mean_score.estimate(),
             check.choose(expected_row(ScoreLaw::gaussian(), std::log(1000.0), 1).mean_score, rows.mean.mean()), 1e-3);
  check.show("max s", rows.maximum.mean());
}

void largest_score(Check& check) {
  for (const std::int64_t n : {100, 1000, 10000}) {
    const std::int64_t rows = check.effort(300000, 20000000) / n;
    const Estimate measured = mean_of(rows, [&] {
      double most = -1e9;
      for (std::int64_t j = 0; j < n; ++j) most = std::max(most, check.random().normal());
      return most;
    });
    const double log_n = std::log(static_cast<double>(n));
    const double formula = check.choose(expected_maximum(log_n), freezing_spread(log_n));
    check.near(fmt::format("E max s, n = {}", n), measured, formula, 0.02 * formula);
  }
  // Where n is astronomical the leading term suffices, and the law of the maximum tends to Gumbel's.
  const double far = 300 * std::log(10.0);
  check.relative("leading term over the corrected one at n = 10^300", freezing_spread(far) / expected_maximum(far), 1,
                 0.005);
  const GumbelLimit limit = maximum_limit(4096);
  double distance = 0;
  for (double z = -5; z < 15; z += 0.01) {
    const double below = 0.5 * std::erfc(-(limit.location + limit.scale * z) / std::sqrt(2.0));
    distance = std::max(distance, std::abs(std::pow(below, 4096) - std::exp(-std::exp(-z))));
  }
  check.at_most("largest distance to Gumbel's law, n = 4096", distance, 0.02);
}

void plain_mean(Check& check) {
  const double mu = 0.7, sigma = 1.5;
  check.near("mean of N(0.7, 1.5^2) scores",
             mean_of(check.effort(100000, 5000000), [&] { return mu + sigma * check.random().normal(); }), mu);
}

void entropy_of_gaussian_scores(Check& check) {
  const std::size_t n = static_cast<std::size_t>(check.effort(16384, 131072));
  const double log_n = std::log(static_cast<double>(n)), freezing = freezing_spread(log_n);
  report::PlotCurve measured{"measured", {}, {}}, exact{"expectation", {}, {}, report::CurveStyle::formula},
      phases{"log n - lambda^2/2, then frozen", {}, {}, report::CurveStyle::formula},
      printed{"log n - lambda sqrt(2 log n), as printed", {}, {}, report::CurveStyle::bound};
  for (const double lambda : {0.5, 1.0, 2.0, 3.0, freezing, 2 * freezing}) {
    const RowMeans rows = gaussian_rows(check, n, lambda, check.effort(12, 120));
    const double expected = expected_row(ScoreLaw::gaussian(), log_n, lambda).entropy;
    const double wrong = log_n - lambda * freezing;
    check.near(fmt::format("H at lambda = {:.3g}, n = {}", lambda, n), rows.entropy.estimate(),
               check.choose(expected, wrong), 1e-3);
    measured.x.push_back(lambda), measured.y.push_back(rows.entropy.mean());
    exact.x.push_back(lambda), exact.y.push_back(expected);
    printed.x.push_back(lambda), printed.y.push_back(std::max(wrong, -5.0));
  }
  for (double lambda = 0.2; lambda < 2 * freezing; lambda += 0.2) {
    phases.x.push_back(lambda);
    phases.y.push_back(std::min(log_n, random_energy_entropy(log_n, lambda)));
  }
  check.plot(
      {fmt::format("Gaussian scores, n = {}", n), "lambda", "H (nats)", {}, {}, {measured, exact, phases, printed}});
  for (const auto& [lambda, quoted] : {std::pair{1.0, 11.283}, {2.0, 9.776}, {3.0, 7.403}})
    check.near(fmt::format("expectation at lambda = {}, n = 131072", lambda),
               expected_row(ScoreLaw::gaussian(), 17 * std::log(2.0), lambda).entropy, quoted, 0.05);
  for (const int k : {6, 10, 14, 17}) {
    const double log_k = k * std::log(2.0);
    check.near(fmt::format("H over sqrt(log n) at the transition, n = 2^{}", k),
               expected_row(ScoreLaw::gaussian(), log_k, freezing_spread(log_k)).entropy / std::sqrt(log_k), 1, 0.1);
  }
  const double far = 300 * std::log(10.0);
  for (const double b : {2.0, 4.0})
    check.near(fmt::format("frozen H at n = 10^300, b = {}", b),
               expected_row(ScoreLaw::gaussian(), far, b * freezing_spread(far)).entropy,
               random_energy_entropy(far, b * freezing_spread(far)), 0.02);
}

void a_scale_that_cancels(Check& check) {
  const double b = 2;
  std::vector<double> x, y, expected;
  double variance = 0;
  for (const int k : {6, 8, 10, 12}) {
    x.push_back(k * std::log(2.0));
    const double lambda = b * freezing_spread(x.back());
    const Estimate h =
        gaussian_rows(check, std::size_t{1} << k, lambda, check.effort(400000, 8000000) >> k).entropy.estimate();
    y.push_back(h.mean), variance += h.error * h.error;
    expected.push_back(expected_row(ScoreLaw::gaussian(), x.back(), lambda).entropy);
  }
  // 1/sum (x - mean)^2 <= 1/8.6 for these lengths, and every weight of the slope is at most 0.25.
  const Estimate measured{slope(x, y), 0.25 * std::sqrt(variance)};
  check.near("slope dH/dlog n at lambda = 2 sqrt(2 log n)", measured, check.choose(slope(x, expected), 1 - 2 * b));
  for (const auto& [h, quoted] : {std::pair{1.0, 2.44}, {2.0, 1.66}, {3.0, 1.42}})
    check.near(fmt::format("b that holds H = {} for very many keys", h), frozen_coefficient(h), quoted, 0.01);
  for (const auto& [c, quoted] : {std::pair{0.5, 0.750}, {0.8, 0.403}, {1.5, 0.078}, {2.0, 0.039}})
    check.near(fmt::format("slope at b = {}, d = 256, n = 2^6 ... 2^17", c),
               law_slope(Scale::sqrt_log_n(c * std::sqrt(2.0)), powers_of_two(6, 17), 256), quoted, 0.02);
}

void entropy_in_proportion(Check& check) {
  const std::size_t n = static_cast<std::size_t>(check.effort(4096, 65536));
  const double log_n = std::log(static_cast<double>(n)), b = 0.8;
  const std::int64_t rows = check.effort(40, 200);
  const Mean fixed = gaussian_rows(check, n, 1, rows).entropy,
             growing = gaussian_rows(check, n, b * freezing_spread(log_n), rows).entropy;
  check.near("C = H/log n", check.choose(fixed, growing).mean() / log_n, 1, 0.1);
  const double far = 1e4;
  check.near("C under a fixed lambda = 1, log n = 10^4", random_energy_entropy(far, 1) / far, 1, 1e-4);
  check.near("C under b = 0.8, log n = 10^4", random_energy_entropy(far, b * freezing_spread(far)) / far, 1 - b * b,
             1e-9);
}

}  // namespace

std::vector<Claim> gaussian_claims() {
  using enum Verdict;
  return {
      computed("003-33..36", holds,
               "Weights written relative to the maximum, and E_p s split into the top key and the rest",
               "exact equalities, although marked approximate", weights_from_the_maximum),
      computed("003-37", corrected, "E_p s is about s_max - (s_max - mean), that is the plain mean",
               "mean + lambda sigma^2", tilted_mean),
      computed("003-38,40", holds_if,
               "The largest of n Gaussian scores is about mu + sigma sqrt(2 log n), with Gumbel's law",
               "if n is astronomical; else subtract (log log n + log 4 pi)/(2 r) and add 0.5772/r, r = sqrt(2 log n)",
               largest_score),
      computed("003-39", holds, "The plain mean of the scores is mu", "", plain_mean),
      computed("003-41", corrected, "H is about log n - lambda sigma sqrt(2 log n)",
               "log n - lambda^2 sigma^2/2 below lambda sigma = sqrt(2 log n), psi(1) - psi(1 - m) far above it",
               entropy_of_gaussian_scores),
      computed(
          "003-s12", corrected, "log n and sqrt(log n) cannot cancel, so H cannot be held",
          "lambda may follow n: lambda sigma = b sqrt(2 log n) gives (1 - b^2) log n for b < 1, a constant for b > 1",
          a_scale_that_cancels),
      computed("003-42", holds_if, "H is about C log n with C near 1",
               "if lambda is fixed; lambda = b sqrt(2 log n)/sigma gives C = 1 - b^2", entropy_in_proportion),
  };
}

}  // namespace isentropic::ledger::invariance
