// The attention operators, isentropic::attention and isentropic::attention_backward.
//
// `problem` and `terms` as in bound_problem.hpp; query [batch, heads, n_q, d], key [batch, kv_heads, n_k, d], value
// [batch, kv_heads, n_k, d_v] or none: then only statistics are computed and `output` is empty.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <string_view>
#include <tuple>

#include "isentropic/export.hpp"

namespace isentropic::pytorch {

// output      [batch, heads, n_q, d_v], axes in the same memory order as the query's
// statistics  [count, batch, heads, n_q]: those that have a gradient, in the order of statistics.hpp
// measures    [count, batch, heads, n_q]: those that have none
// counts      [count, batch, heads, n_q] int64
// rows        what the backward pass needs, one array per field (row_state.hpp); its integers are in row_counts
// selected    of a top_k map, else empty
using Forward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

// Gradients of query, key, value, bias, sink, of the scale parameters [count, heads] (per_row: of the rows [batch,
// heads, n_q]) and of the map's parameter [heads]; empty where there is none. The first three have the memory order of
// the tensors they are gradients of.
using Backward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

using ForwardOperator = Forward(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                                const std::optional<at::Tensor>& value, at::TensorList terms);

// Takes a problem with its forward results and the upstream gradients of output and statistics; bias_gradient: whether
// to spend a sweep on that of the bias.
using BackwardOperator = Backward(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                                  const std::optional<at::Tensor>& value, at::TensorList terms,
                                  const at::Tensor& output, const at::Tensor& rows, const at::Tensor& row_counts,
                                  const at::Tensor& selected, const std::optional<at::Tensor>& output_gradient,
                                  const std::optional<at::Tensor>& statistics_gradient, bool bias_gradient);

// The operators, dispatched on the device.
ISENTROPIC_API ForwardOperator attention_forward;
ISENTROPIC_API BackwardOperator attention_backward;

}  // namespace isentropic::pytorch
