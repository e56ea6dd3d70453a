// Simulates every kind of noise at every length, next to the closed-form prediction.
#include "experiments/noise/experiment.hpp"

#include <algorithm>
#include <cmath>

#include "base/mix.hpp"
#include "experiments/noise/deviation.hpp"
#include "experiments/tools/kernels.hpp"

namespace isentropic::experiments::noise {
namespace {

// Scores and values 0, 1, 0, 1, ..., one per group of keys that share their noise.
Row row_of(std::size_t n, std::size_t group) {
  Row row{std::vector<double>(n), {}};
  for (std::size_t i = 0; i < n; ++i) row.scores[i] = static_cast<double>(i / group % 2);
  row.values = row.scores;
  return row;
}

struct Prediction {
  double bias = 0, rms = 0;
};

Prediction prediction(const Row& row, const Disturbance& noise) {
  const double ratio = noise.law.variance_ratio();
  const std::vector<double> weights = weights_of(row.scores);
  if (noise.lean == 0) {
    std::vector<std::int64_t> groups(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) groups[i] = static_cast<std::int64_t>(i / noise.group);
    const theory::NoiseEffect effect = theory::group_noise_effect(weights, row.value_table(), groups, ratio);
    return {effect.bias[0], effect.rms};
  }
  // The component along the values permanently tilts the weights; the rest acts on the tilted weights.
  std::vector<double> tilted = row.scores;
  for (std::size_t i = 0; i < row.size(); ++i) tilted[i] += noise.lean * row.values[i];
  const theory::NoiseEffect effect = theory::noise_effect(weights_of(tilted), row.value_table(), ratio);
  const double bias = theory::value_noise_shift(weights, row.values, noise.lean) + effect.bias[0];
  return {bias, std::hypot(bias, effect.rms)};
}

Disturbance disturbance(const Case& noise) {
  return {noise.law(), noise.family == Family::groups ? static_cast<std::size_t>(noise.strength) : 1,
          noise.family == Family::values ? noise.strength : 0};
}

}  // namespace

const std::vector<std::size_t>& experiment_lengths() {
  static const std::vector<std::size_t> lengths = {64, 256, 1024, 4096};
  return lengths;
}

Curve measure_noise(const Case& noise, const Options& options, const Progress& progress) {
  require_meaning(noise);
  const Disturbance noise_on_scores = disturbance(noise);
  Curve out{noise, {}, {}, noise.law().rate_exponent()};
  // Noise that leans with the values never averages out.
  if (noise_on_scores.lean != 0) out.predicted_power = 0;
  std::vector<Estimate> medians;
  for (const std::size_t n : experiment_lengths()) {
    Random random(mix({options.seed, static_cast<std::uint64_t>(noise.family), n}));
    const Row row = row_of(n, noise_on_scores.group);
    const Deviation found = deviation(row, noise_on_scores, options.draws, random);
    const Prediction expected = prediction(row, noise_on_scores);
    out.points.push_back({n, found.bias, found.rms(), found.median, expected.bias, expected.rms});
    medians.push_back(found.median);
    if (progress) progress(static_cast<double>(out.points.size()) / static_cast<double>(experiment_lengths().size()));
  }
  out.power = power_estimate(experiment_lengths(), medians);
  return out;
}

std::vector<AttackRow> measure_attacks(const Options& options) {
  std::vector<AttackRow> out;
  for (const theory::Budget budget : kBudgets)
    for (const double eps : {0.1, 1.0, 3.0}) {
      Random random(mix({options.seed, 100 + static_cast<std::uint64_t>(budget)}));
      AttackRow row{budget, eps};
      Mean best;
      for (std::int64_t t = 0; t < options.attack_trials; ++t) {
        const AttackShares shares = attack_shares(10, budget, eps, random);
        best.add(shares.best_gain);
        for (std::size_t c = 0; c < 3; ++c) row.shares[c].add(shares.of_best[c]);
        row.worst_share = std::min(row.worst_share, shares.of_best[static_cast<std::size_t>(budget)]);
      }
      row.best_gain = best.mean();
      out.push_back(row);
    }
  return out;
}

Results run_experiment(const Options& options, const Progress& progress) {
  Results out{options, {}, {}};
  if (out.options.cases.empty())
    for (const Family family : kFamilies) out.options.cases.push_back({family, standard_strength(family)});
  const auto count = static_cast<double>(out.options.cases.size());
  for (const Case& noise : out.options.cases) {
    const auto done = static_cast<double>(out.curves.size());
    out.curves.push_back(measure_noise(noise, out.options, [&](double share) {
      if (progress) progress((done + share) / (count + 0.1));
    }));
  }
  out.attacks = measure_attacks(out.options);
  if (progress) progress(1);
  return out;
}

}  // namespace isentropic::experiments::noise
