// One attention call that returns the sparsity index instead of an output.
#include "experiments/sparsity/measure.hpp"

#include <vector>

#include "isentropic/attention.hpp"

namespace isentropic::experiments::sparsity {
namespace {

using information::Table;

Concentration measure(View query, View keys, const ScoreMap& map, const Mask& mask = Mask::none()) {
  const AttentionResult result =
      attention_statistics({.query = query,
                            .key = keys,
                            .mask = mask,
                            .scale = Scale::constant(1),
                            .map = map,
                            .statistics = Statistics::of({Statistic::sparsity, Statistic::participation}),
                            .executor = &serial_executor()});
  return {result.statistics.sparsity.to_doubles()[0], result.statistics.participation.to_doubles()[0]};
}

std::int64_t size(std::size_t n) { return static_cast<std::int64_t>(n); }

}  // namespace

Concentration measure(std::span<const double> query, const Table& keys, const ScoreMap& map) {
  return measure(View(query.data(), {1, 1, 1, size(query.size())}),
                 View(keys.values.data(), {1, 1, size(keys.rows), size(keys.columns)}), map);
}

Concentration measure(std::span<const double> scores, const ScoreMap& map) {
  const double one = 1;
  return measure(View(&one, {1, 1, 1, 1}), View(scores.data(), {1, 1, size(scores.size()), 1}), map);
}

Concentration measure_decay(double lambda, std::int64_t n) {
  const std::vector<double> keys(static_cast<std::size_t>(n), 0.0);
  const double one = 1;
  return measure(View(&one, {1, 1, 1, 1}), View(keys.data(), {1, 1, n, 1}), ScoreMap::decay(lambda),
                 Mask::causal(Align::end));
}

}  // namespace isentropic::experiments::sparsity
