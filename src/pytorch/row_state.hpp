// What a backward pass must know of every row, as a tensor that autograd can save.
#pragma once

#include <ATen/ATen.h>

#include "isentropic/attention.hpp"

namespace isentropic::pytorch {

// [batch, heads, n_q, kRowState] in float64: m, z, u, w, c, k, a of the record; lambda, n (-1: not counted), status of
// a wanted entropy. The counts are exact in a double.
inline constexpr std::int64_t kRowState = 10;

at::Tensor pack_rows(const AttentionProblem& problem, const AttentionResult& result);

// The result of the forward pass as far as the backward pass looks at it.
AttentionResult unpack_rows(const AttentionProblem& problem, const at::Tensor& rows, const at::Tensor& output,
                            const at::Tensor& selected);

}  // namespace isentropic::pytorch
