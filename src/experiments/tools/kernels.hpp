// The library's own kernels applied to scores and matrices of doubles, for the checks.
//
// Scores enter as keys of one coordinate under the query 1, so s_j = 1 * s_j exactly and attention() does the rest in
// float64. Everything runs on the calling thread: the checks themselves run in parallel.
#pragma once

#include <span>
#include <vector>

#include "isentropic/attention.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::experiments::tools {

using Record = SoftmaxRecord<double>;

// [1, 1, rows, columns]; the table must outlive the view.
View view_of(const information::Table& table);

// The weights of one row of scores: softmax(lambda s), or another map.
std::vector<double> weights_of(std::span<const double> scores, double lambda = 1,
                               const ScoreMap& map = ScoreMap::softmax());
// The record of each row of scores under softmax(lambda s): entropy(record), log_partition(record), ...
std::vector<Record> records_of(const information::Table& scores, double lambda = 1);
Record record_of(std::span<const double> scores, double lambda = 1);
inline double entropy_of(std::span<const double> scores, double lambda = 1) {
  return entropy(record_of(scores, lambda));
}
// o_r = sum_j a_rj v_j for each row of scores; all rows share the values [n, d_v].
information::Table outputs_of(const information::Table& scores, const information::Table& values);
std::vector<double> output_of(std::span<const double> scores, const information::Table& values);

// attention() on matrices [n_q, d], [n_k, d], [n_k, d_v], otherwise configured by `options` (its query, key and value
// are replaced); computes all statistics.
AttentionResult attend(const information::Table& query, const information::Table& key, const information::Table& value,
                       AttentionProblem options = {});
// [n_q, n_k]
information::Table weights_of(const information::Table& query, const information::Table& key,
                              AttentionProblem options = {});
// A result's output as a table.
information::Table table_of(const Tensor& tensor);

}  // namespace isentropic::experiments::tools
