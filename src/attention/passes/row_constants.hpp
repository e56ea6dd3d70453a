// What a row's gradient needs from the finished row (RowConstants of isentropic/attention.hpp), on any device.
#pragma once

#include <vector>

#include "isentropic/attention.hpp"

namespace isentropic {

// For a validated problem and its results; output_products: D = sum_c gO_c O_c for every row. Error if `forward` lacks
// the sums that a given upstream gradient needs.
std::vector<RowConstants> row_constants(const AttentionProblem& problem, const AttentionResult& forward,
                                        const AttentionUpstream& upstream, const std::vector<double>& output_products);

}  // namespace isentropic
