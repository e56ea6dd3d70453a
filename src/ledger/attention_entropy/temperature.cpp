// Section 9: the temperature.
#include "isentropic/theory/temperature.hpp"

#include <algorithm>
#include <cmath>

#include "isentropic/information/distribution.hpp"
#include "isentropic/theory/bounded_scores.hpp"
#include "ledger/attention_entropy/levels.hpp"
#include "ledger/attention_entropy/subjects.hpp"

namespace isentropic::ledger::attention_entropy {
namespace {

const std::vector<double> kScores = {1, 0.3, -0.2, 0.9};

AttentionProblem at_temperature(double tau) {
  AttentionProblem options;
  options.scale = Scale::temperature(tau);
  return options;
}

double entropy_at(const std::vector<double>& scores, double tau) { return entropy_of(scores, 1 / tau); }

void tempered_entropy(Check& check) {
  const std::vector<double> scores = check.random().normals(40);
  double weights_off = 0, entropy_off = 0;
  for (const double tau : {0.1, 0.5, 1.0, 3.0, 100.0}) {
    double z = 0, moment = 0;
    for (double s : scores) z += std::exp(s / tau), moment += s * std::exp(s / tau);
    const std::vector<double> a = weights_of(scores, 1 / tau);
    for (std::size_t i = 0; i < a.size(); ++i)
      weights_off = std::max(weights_off, std::abs(a[i] - std::exp(scores[i] / tau) / z));
    const double printed = std::log(z) - moment / z / tau;
    entropy_off = std::max({entropy_off, std::abs(entropy(a) - printed), std::abs(entropy_at(scores, tau) - printed)});
  }
  check.near("weights against e^{s/tau} / sum, worst", weights_off, 0, 1e-13);
  check.near("H(tau) against log Z - E[s] / tau, worst", entropy_off, 0, 1e-12);
}

void cold_limit(Check& check) {
  const std::vector<double> ties = {1, 1, 0};
  check.near("H at tau = 0.001", entropy_at(check.choose(kScores, ties), 1e-3), 0, 1e-9);
  check.near("H of (1, 1, 0) at tau = 0.001", entropy_at(ties, 1e-3), zero_temperature_entropy(ties), 1e-12);
}

void warm_limit(Check& check) {
  check.near("H at tau = 1000", entropy_at(kScores, 1000), std::log(4.0), 1e-6);
  const double h = 1e-5, tau = 0.7;
  const double slope = (entropy_at(kScores, tau + h) - entropy_at(kScores, tau - h)) / (2 * h);
  check.near("dH/dtau at 0.7 by differences", slope, entropy_slope_in_temperature(kScores, tau), 1e-9);
  check.near("the same against 0.38422824", slope, 0.38422824, 1e-8);

  std::int64_t falls = 0;
  report::PlotCurve measured{.label = "measured", .x = {}, .y = {}};
  report::PlotCurve series{
      .label = "log n - K2/2 - K3/3 - K4/8", .x = {}, .y = {}, .style = report::CurveStyle::formula};
  double before = 0;
  for (double t = 0.05; t < 20; t *= 1.2) {
    const double now = entropy_at(kScores, t);
    falls += now < before;
    before = now;
    measured.x.push_back(t), measured.y.push_back(now);
    if (t > 0.3) series.x.push_back(t), series.y.push_back(high_temperature_entropy(kScores, t));
  }
  check.never("falls of H on a rising grid of temperatures", falls);
  check.near("high-temperature series at tau = 4", entropy_at(kScores, 4), high_temperature_entropy(kScores, 4), 1e-5);
  check.plot({.title = "Entropy of the scores 1, 0.3, -0.2, 0.9",
              .x_label = "temperature",
              .y_label = "H (nats)",
              .x_scale = report::PlotScale::log,
              .curves = {measured,
                         series,
                         {.label = "log 4",
                          .x = {0.05, 20},
                          .y = {std::log(4.0), std::log(4.0)},
                          .style = report::CurveStyle::bound}}});
}

// Attention over unit keys, m of them along the query and the others opposite to it.
double entropy_of_unit_vectors(std::size_t n, std::size_t m, Random* random) {
  const std::size_t d = 8;
  Table query(1, d, random->normals(d)), keys(n, d);
  double squares = 0;
  for (double x : query.values) squares += x * x;
  for (double& x : query.values) x /= std::sqrt(squares);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t x = 0; x < d; ++x) keys(j, x) = j < m ? query(0, x) : -query(0, x);
  return entropy(attend(query, keys, keys, at_temperature(1)).rows.record(0));
}

void range_of_cosines(Check& check) {
  const std::size_t n = 1024;
  const double log_n = std::log(1024.0);
  double least = log_n;
  for (std::size_t m = 200; m <= 220; ++m) least = std::min(least, entropy_of_unit_vectors(n, m, &check.random()));
  check.near("least H of 1024 unit keys", least, check.choose(log_n - bounded_entropy_gap(2), 0.0), 1e-5);
  check.near("least H of 1024 unit keys, quoted", least, 6.46, 0.005);
  check.near("most H of 1024 unit keys", entropy_of_unit_vectors(n, n, &check.random()),
             check.choose(log_n, log_n - 0.4745), 1e-9);
}

void scores_at_small_temperature(Check& check) {
  const Table unit(1, 2, {1, 0}), opposite(1, 2, {-1, 0}), keys(2, 2, {1, 0, -1, 0});
  const AttentionResult result = attend(unit, keys, keys, at_temperature(0.07));
  check.near("largest score of unit vectors at tau = 0.07", result.statistics.max_score.at({0, 0, 0}), 14.3, 0.05);
  check.near("smallest", attend(unit, opposite, opposite, at_temperature(0.07)).statistics.max_score.at({0, 0, 0}),
             -14.3, 0.05);
}

void floor_at_small_temperature(Check& check) {
  const double range = cosine_score_range(0.07);
  check.near("least H of cosines at tau = 0.07",
             least_two_level_entropy(check.choose<std::int64_t>(65536, 1'000'000'000'000), range, 64), 0, 1e-5);
  const auto known = [&](const std::string& name, std::int64_t n, double tau, double value, double share) {
    const double least = least_two_level_entropy(n, 2 / tau, 256);
    check.relative("least H, " + name, least, bounded_entropy_floor(n, 2 / tau).entropy, 1e-6);
    check.relative("to the digits known, " + name, least, value, share);
  };
  known("n = 64, tau = 0.07", 64, 0.07, 7e-10, 0.08);
  known("n = 1024, tau = 0.07", 1024, 0.07, 1.2e-8, 0.05);
  known("n = 65536, tau = 0.07", 65536, 0.07, 7.6e-7, 0.01);
  known("n = 1e9, tau = 0.07", 1'000'000'000, 0.07, 0.0115, 0.005);
  known("n = 1e12, tau = 0.07", 1'000'000'000'000, 0.07, 3.41, 0.002);
  known("n = 65536, tau = 0.1", 65536, 0.1, 0.0028, 0.02);
  known("n = 1e9, tau = 0.1", 1'000'000'000, 0.1, 4.7, 0.01);
  known("n = 1024, tau = 0.2", 1024, 0.2, 0.49, 0.02);
  // With n^-1/2 below rounding, the integer number of keys at the top no longer matters.
  const std::int64_t many = 100'000'000'000'000;
  check.near("log n - least H for n = 1e14", std::log(1e14) - least_two_level_entropy(many, range, 2000), 24.219,
             0.001);
}

}  // namespace

std::vector<Claim> temperature_claims() {
  return {
      computed("001-38,41,42", Verdict::holds, "softmax(s / tau) and its entropy log Z - E[s] / tau", "",
               tempered_entropy),
      computed("001-39", Verdict::holds_if, "tau -> 0: one-hot weights and H -> 0",
               "for a unique maximum; k keys that tie for it leave log k", cold_limit),
      computed("001-40", Verdict::holds, "tau -> infinity: equal weights and H -> log n",
               "monotonically: dH/dtau = Var_p(s) / tau^3", warm_limit),
      computed("001-43", Verdict::corrected, "Cosines at tau = 1: H in [0, log n - 0.4745]", "[log n - 0.4745, log n]",
               range_of_cosines),
      computed("001-44", Verdict::holds, "tau = 0.07 stretches cosines to [-14.3, 14.3]", "1 / 0.07 = 14.2857",
               scores_at_small_temperature),
      computed("001-45", Verdict::holds_if, "Cosines at tau = 0.07: H ranges over [0, log n]",
               "log n well below 2 / tau = 28.6; beyond it the floor is log n - 24.219", floor_at_small_temperature),
  };
}

}  // namespace isentropic::ledger::attention_entropy
