// The state of every row as tensors: what a backward pass needs, and the statistics.
#pragma once

#include <ATen/ATen.h>

#include <tuple>
#include <utility>
#include <vector>

#include "isentropic/attention.hpp"

namespace isentropic::pytorch {

// Records as a tensor [rows, kRecord] in float64: m, z, u, w, c, k, a. The counts are exact in a double.
inline constexpr std::int64_t kRecord = 7;

at::Tensor pack_records(const std::vector<SoftmaxRecord<double>>& records);
std::vector<SoftmaxRecord<double>> unpack_records(const at::Tensor& packed);

// The state of rows, one array per field:
//
//   rows        [fields, batch, heads, n_q], in the type of statistics: lambda; with a softmax m and z; then u if the
//               sums are those of MomentSet::entropy, and w, c if they are all
//   row_counts  [4, batch, heads, n_q] int64: k, a, n of the whole problem (-1: not counted), and the status of a
//               target entropy (else 0)
//
// The number of fields tells which sums are present: fewer than the problem wants if checkpointing repeated the forward
// pass with fewer statistics.
inline constexpr std::int64_t kScaleField = 0, kMaximumField = 1, kSumFields = 2;  // where z, u, w, c begin
inline constexpr std::int64_t kCounts = 4;

// The number of fields for the problem's rows: 1, 3, 4 or 6.
std::int64_t row_fields(const AttentionProblem& problem);

std::pair<at::Tensor, at::Tensor> pack_rows(const AttentionProblem& problem, const AttentionResult& result);

// `statistics`, `measures` and `counts` of the operator (attention.hpp); their sources are moved from.
std::tuple<at::Tensor, at::Tensor, at::Tensor> stack_statistics(const AttentionProblem& problem,
                                                                RowStatistics& statistics);

// The forward results, as far as the backward pass needs them.
AttentionResult unpack_rows(const AttentionProblem& problem, const at::Tensor& rows, const at::Tensor& row_counts,
                            const at::Tensor& output, const at::Tensor& selected);

}  // namespace isentropic::pytorch
