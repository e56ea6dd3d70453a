// Bounds on the information of a layer with Gaussian noise, from pairwise distances of its outputs.
#include "isentropic/information/noise_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "base/checks.hpp"
#include "information/distributions/rows.hpp"
#include "information/distributions/validate.hpp"

namespace isentropic::information {
namespace {

double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sum;
}

}  // namespace

InformationBounds noisy_layer_input_information(const Table& outputs, double noise_variance,
                                                std::span<const double> weights, Executor& executor) {
  require_samples("outputs", outputs);
  require_positive("noise_variance", noise_variance);
  const std::vector<double> equal(outputs.rows, 1 / static_cast<double>(outputs.rows));
  if (weights.empty()) weights = equal;
  require_length("weights", weights.size(), outputs.rows, "one for each output");
  require_distribution("weights", weights);
  std::vector<double> lower(outputs.rows), upper(outputs.rows);
  executor.parallel_for(static_cast<std::int64_t>(outputs.rows), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      double near = 0, nearer = 0;  // the term j = i keeps both away from 0
      for (std::size_t j = 0; j < outputs.rows; ++j) {
        // exp(-D / 8)^4 = exp(-D / 2): one exponential serves both bounds.
        const double wide = std::exp(-squared_distance(outputs.row(i), outputs.row(j)) / (8 * noise_variance));
        near += weights[j] * wide;
        nearer += weights[j] * (wide * wide) * (wide * wide);
      }
      lower[i] = weights[i] > 0 ? -weights[i] * std::log(near) : 0;
      upper[i] = weights[i] > 0 ? -weights[i] * std::log(nearer) : 0;
    }
  });
  return {std::accumulate(lower.begin(), lower.end(), 0.0), std::accumulate(upper.begin(), upper.end(), 0.0)};
}

LabelInformation noisy_layer_label_information(const Table& outputs, std::span<const std::int64_t> labels,
                                               double noise_variance, Executor& executor) {
  require_samples("outputs", outputs);
  require_length("labels", labels.size(), outputs.rows, "one for each output");
  const InformationBounds all = noisy_layer_input_information(outputs, noise_variance, {}, executor);
  std::map<std::int64_t, std::vector<std::size_t>> rows_with;
  for (std::size_t r = 0; r < labels.size(); ++r) rows_with[labels[r]].push_back(r);
  InformationBounds within;
  for (const auto& [label, rows] : rows_with) {
    const double share = static_cast<double>(rows.size()) / static_cast<double>(outputs.rows);
    const InformationBounds part = noisy_layer_input_information(rows_of(outputs, rows), noise_variance, {}, executor);
    within.lower += share * part.lower;
    within.upper += share * part.upper;
  }
  return {{all.lower - within.upper, all.upper - within.lower}, all.upper - within.upper, all.lower - within.lower};
}

}  // namespace isentropic::information
