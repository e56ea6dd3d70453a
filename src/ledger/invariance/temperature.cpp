// Sections 25 and 26: temperature, and the limits named by the source.
#include <fmt/format.h>

#include "isentropic/theory/random_energy.hpp"
#include "isentropic/theory/random_scores.hpp"
#include "isentropic/theory/scale_laws.hpp"
#include "ledger/invariance/drawn.hpp"
#include "ledger/invariance/subjects.hpp"

namespace isentropic::ledger::invariance {
namespace {

std::vector<double> weights_at_temperature(const Table& key, double temperature) {
  return weights_of(Table(1, 1, 1.0), key, {.query = {}, .key = {}, .scale = Scale::temperature(temperature)}).values;
}

std::vector<double> plain_softmax(std::span<const double> s, double factor) {
  std::vector<double> out;
  double sum = 0;
  for (const double x : s) out.push_back(std::exp(factor * x)), sum += out.back();
  for (double& x : out) x /= sum;
  return out;
}

void temperature_form(Check& check) {
  const Table key = normal_table(check.random(), 50, 1);
  for (const double t : {0.3, 1.0, 4.0})
    check.near(fmt::format("weights at T = {} less e^(s/T)/Z", t),
               difference(weights_at_temperature(key, t), plain_softmax(key.values, 1 / t)), 0, 1e-14);
}

void factor_of_a_temperature(Check& check) {
  const Table key = normal_table(check.random(), 50, 1);
  for (const double t : {0.3, 4.0})
    check.near(fmt::format("weights at T = {} less those of the scale factor", t),
               difference(weights_at_temperature(key, t), plain_softmax(key.values, check.choose(1 / t, t))), 0, 1e-14);
}

void adaptive_temperature(Check& check) {
  const double kappa = 1.7;
  const Table q = normal_table(check.random(), 4, 8), k = normal_table(check.random(), 90, 8);
  const Table by_law = weights_of(q, k, {.query = {}, .key = {}, .scale = Scale::log_n(kappa)});
  const Table by_temperature =
      weights_of(q, k, {.query = {}, .key = {}, .scale = Scale::temperature(8 / (kappa * std::log(90.0)))});
  check.near("weights of kappa log n/d less those of T = d/(kappa log n)",
             difference(by_law.values, by_temperature.values), 0, 1e-14);
  const std::vector<std::int64_t> lengths = context_lengths(check);
  const std::vector<Curve> curves =
      draw_curves(check, {Scale::inverse_sqrt_d(), Scale::log_n()}, lengths, 64, check.effort(96, 400));
  check.near("slope of H at a fixed temperature", curves[0].slope(), law_slope(Scale::inverse_sqrt_d(), lengths, 64),
             0.005);
  check.near("slope of H at T = d/log n", curves[1].slope(), law_slope(Scale::log_n(), lengths, 64), 0.005);
  const auto all = powers_of_two(6, 17);
  check.near("its expectation, n = 2^6 ... 2^17", law_slope(Scale::log_n(), all, 64), 0.88, 0.005);
  check.near("that of a fixed temperature", law_slope(Scale::inverse_sqrt_d(), all, 64), 1, 0.005);
}

void stated_limits(Check& check) {
  const std::size_t n = 2048;
  const double freezing = freezing_spread(std::log(n));
  std::int64_t mean_field = 0, peaked = 0, both = 0;
  for (const double share : {0.05, 0.2, 0.5, 1.0, 2.0, 4.0}) {
    const double lambda = share * freezing;
    const RowMeans rows = gaussian_rows(check, n, lambda, check.effort(120, 800));
    const double gap = rows.log_mean_exp.mean() - lambda * rows.mean.mean();
    const double ratio = rows.mean_score.mean() / rows.maximum.mean();
    const ExpectedRow expected = expected_row(ScoreLaw::gaussian(), std::log(n), lambda);
    check.near(fmt::format("mean-field gap at lambda = {:.2f}", lambda), {gap, rows.log_mean_exp.estimate().error},
               expected.log_partition - std::log(n), 5 * lambda * rows.mean.estimate().error);
    check.near(fmt::format("E_p s as a share of max s at lambda = {:.2f}", lambda),
               {ratio, rows.mean_score.estimate().error / rows.maximum.mean()},
               expected.mean_score / mean_of_maximum(n), 5 * rows.maximum.estimate().error / rows.maximum.mean());
    mean_field += gap<0.1, peaked += ratio> 0.9, both += gap < 0.1 && ratio > 0.9;
  }
  check.at_least("scales at which the mean field holds, small lambda", static_cast<double>(mean_field), 1);
  check.at_least("scales at which E_p s is near max s, peaked rows", static_cast<double>(peaked), 2);
  check.never("scales at which both approximations hold", both);
  // Dependence: keys with a shared component behave like random keys under a smaller lambda.
  const std::vector<std::int64_t> lengths = {256, 1024};
  const Scale law = Scale::log_n_sqrt_d(0.4);
  const Curve shared =
      draw_curves(check, {law}, lengths, 64, check.effort(320, 1600), experiments::lengths::Keys::correlated).front();
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double independent = law_entropy(law, lengths[i], 64);
    const double lambda = law_lambda(law, lengths[i], 64) * std::sqrt(0.7);
    const double log_n = std::log(static_cast<double>(lengths[i]));
    check.at_least(fmt::format("H of correlated keys over that of independent ones, n = {}", lengths[i]),
                   shared.entropy(i).mean - independent, 0.3);
    check.near(fmt::format("H of correlated keys against lambda sqrt(1 - r), n = {}", lengths[i]), shared.entropy(i),
               expected_row(ScoreLaw::cosine(64), log_n, lambda).entropy, 0.05);
  }
}

void range_of_use(Check& check) {
  const std::vector<std::int64_t> lengths = check.thorough() ? powers_of_two(4, 13) : powers_of_two(4, 11);
  for (const std::int64_t d : {64, 256})
    check.near(fmt::format("slope dH/dlog n under log n/d, d = {}", d),
               draw_curve(check, Scale::log_n(), lengths, d, check.effort(48, 400)).slope(),
               check.choose(law_slope(Scale::log_n(), lengths, d), 0.0), 0.005);
  for (const std::int64_t n : {10, 100, 1000, 10000})
    check.at_most(fmt::format("log n - H at d = 512, n = {}", n),
                  std::log(static_cast<double>(n)) - law_entropy(Scale::log_n(), n, 512), 0.083, 5e-4);
}

}  // namespace

std::vector<Claim> temperature_claims() {
  using enum Verdict;
  return {
      computed("003-62", holds, "Weights with temperature: e^{s/T}/Z", "", temperature_form),
      computed("003-s25", corrected, "lambda = 1/T is the reciprocal of the scale factor",
               "lambda is the scale factor; T is its reciprocal", factor_of_a_temperature),
      computed("003-63", note,
               "T = d/(kappa log n): longer contexts are cooled, which offsets the growth of the entropy",
               "the algebra holds; at kappa = 1 the offset is partial, slope 0.88 instead of 1 at d = 64",
               adaptive_temperature),
      computed("003-s26", holds,
               "Limits: small variance for the mean field, independence, peaked rows for E_p s = max s",
               "and the first and the last exclude each other", stated_limits),
      computed("003-s26b", corrected, "log n/d works best for n = 10 to 10^4 and d = 64 to 512",
               "at kappa = 1 on random keys H keeps growing there; at d = 512 it stays within 0.083 of log n",
               range_of_use),
  };
}

}  // namespace isentropic::ledger::invariance
