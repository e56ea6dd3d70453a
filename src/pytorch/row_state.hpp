// What is known of every row, as tensors: what a backward pass needs, and the statistics.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <tuple>
#include <vector>

#include "isentropic/attention.hpp"

namespace isentropic::pytorch {

// Records as a tensor [rows, kRecord] in float64: m, z, u, w, c, k, a. The counts are exact in a double.
inline constexpr std::int64_t kRecord = 7;

at::Tensor pack_records(const std::vector<SoftmaxRecord<double>>& records);
std::vector<SoftmaxRecord<double>> unpack_records(const at::Tensor& packed);

// [batch, heads, n_q, kRowState]: the record; lambda, n (-1: not counted), the status of a target entropy, and which
// sums the record holds: fewer than the problem says where checkpointing repeated the forward pass with fewer
// statistics.
inline constexpr std::int64_t kRowState = kRecord + 4;

// Their names, for who reads them: "m", ..., "scale", "visible", "status", "moments".
std::vector<std::string> row_state_names();

at::Tensor pack_rows(const AttentionProblem& problem, const AttentionResult& result);

// `statistics`, `measures` and `counts` of the operator (attention.hpp); what they are made of is moved out.
std::tuple<at::Tensor, at::Tensor, at::Tensor> stack_statistics(const AttentionProblem& problem,
                                                                RowStatistics& statistics);

// The result of the forward pass as far as the backward pass looks at it.
AttentionResult unpack_rows(const AttentionProblem& problem, const at::Tensor& rows, const at::Tensor& output,
                            const at::Tensor& selected);

}  // namespace isentropic::pytorch
