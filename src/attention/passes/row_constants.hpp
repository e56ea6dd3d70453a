// What a row's gradient needs of the finished row (RowConstants of isentropic/attention.hpp), on any device.
#pragma once

#include <vector>

#include "isentropic/attention.hpp"

namespace isentropic {

// Of a validated problem and its results; output_products: D = sum_c gO_c O_c of every row. An Error where `forward`
// holds too few sums for a gradient that is given.
std::vector<RowConstants> row_constants(const AttentionProblem& problem, const AttentionResult& forward,
                                        const AttentionUpstream& upstream, const std::vector<double>& output_products);

}  // namespace isentropic
