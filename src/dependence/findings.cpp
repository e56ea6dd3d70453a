#include "dependence/findings.hpp"

#include <chrono>
#include <cmath>

namespace isentropic::dependence {

bool uses_neighbours(InformationEstimator estimator) {
  return estimator == InformationEstimator::ksg1 || estimator == InformationEstimator::ksg2 ||
         estimator == InformationEstimator::mixed;
}
bool uses_bins(InformationEstimator estimator) {
  return estimator == InformationEstimator::binned || estimator == InformationEstimator::equal_mass;
}
bool uses_entropy(InformationEstimator estimator) {
  return uses_bins(estimator) || estimator == InformationEstimator::discrete;
}

InformationEstimator estimator_for(const Data& data) {
  if (data.y.table.columns > 0) return suitable_estimator(data.x.table, data.y.table, data.given.table);
  const bool symbols = suitable_estimator(data.x.table, data.x.table) == InformationEstimator::discrete;
  return symbols ? InformationEstimator::discrete : InformationEstimator::ksg1;
}

Findings find(const Data& data, const Request& request) {
  Findings out;
  const Table &x = data.x.table, &y = data.y.table, &z = data.given.table;
  if (y.columns > 0) {
    const InformationMeasure measure = [&](const Table& some_x, const Table& some_y, const Table& some_z) {
      return estimate_information(some_x, some_y, some_z, request.options);
    };
    const auto start = std::chrono::steady_clock::now();
    out.nats = measure(x, y, z);
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    out.warnings = information_warnings(x, y, z, request.options, *out.nats);
    if (std::isinf(*out.nats)) out.warnings.push_back("the estimate is infinite: y follows from x");
    if (request.permutations > 0)
      out.significance = permutation_significance(x, y, z, measure, request.permutations, request.seed);
    if (request.halves > 0) out.interval = half_sample_interval(x, y, z, measure, request.halves, kLevel, request.seed);
  }
  if (request.total_correlation)
    out.correlation = correlation_with_baselines(beside(x, y), request.options, request.seed);
  return out;
}

}  // namespace isentropic::dependence
