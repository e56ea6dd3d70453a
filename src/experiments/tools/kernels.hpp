// The product's own kernels, on scores and matrices of doubles, as the checks use them.
//
// Scores enter as keys of one coordinate under the query 1, so s_j = 1 * s_j exactly and attention() does the rest in
// float64. Everything runs on the calling thread: checks themselves run side by side.
#pragma once

#include <span>
#include <vector>

#include "isentropic/attention.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::experiments::tools {

using Record = SoftmaxRecord<double>;

// [1, 1, rows, columns]; the table must outlive the view.
View view_of(const Table& table);

// The weights of one row of scores: softmax(lambda s), or another map.
std::vector<double> weights_of(std::span<const double> scores, double lambda = 1,
                               const ScoreMap& map = ScoreMap::softmax());
// The record of each row of scores under softmax(lambda s): entropy(record), log_partition(record), ...
std::vector<Record> records_of(const Table& scores, double lambda = 1);
Record record_of(std::span<const double> scores, double lambda = 1);
inline double entropy_of(std::span<const double> scores, double lambda = 1) {
  return entropy(record_of(scores, lambda));
}
// o_r = sum_j a_rj v_j for each row of scores; the values [n, d_v] are those of every row.
Table outputs_of(const Table& scores, const Table& values);
std::vector<double> output_of(std::span<const double> scores, const Table& values);

// attention() on matrices [n_q, d], [n_k, d], [n_k, d_v] with everything else as `options` says (its query, key and
// value are replaced); all statistics are computed.
AttentionResult attend(const Table& query, const Table& key, const Table& value, AttentionProblem options = {});
// [n_q, n_k]
Table weights_of(const Table& query, const Table& key, AttentionProblem options = {});
// A result's output as a table.
Table table_of(const Tensor& tensor);

}  // namespace isentropic::experiments::tools
