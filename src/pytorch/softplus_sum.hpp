// The operator isentropic::softplus_sum and its backward: the noise term of noise-contrastive estimation,
//
//   out_i = e^{log_factor} sum_j log(1 + e^{q_i . x_j + column_j + row_i}),
//
// some queries at a time: the scores are never all in memory (`held` at a time; 0: chosen for the device). A large
// noise ratio makes the factor large and the terms small, each out of a float's range, so they are combined as
// logarithms.
// query [N, d], noise [M, d] or [N, M, d], column [M] or [N, M], row [N], all of one type, float32 or float64.
#pragma once

#include <ATen/ATen.h>

#include <tuple>

#include "isentropic/export.hpp"

namespace isentropic::pytorch {

using SoftplusSumGradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;  // query, noise, column, row

using SoftplusSumOperator = at::Tensor(const at::Tensor& query, const at::Tensor& noise, const at::Tensor& column,
                                       const at::Tensor& row, double log_factor, std::int64_t held);
using SoftplusSumBackwardOperator = SoftplusSumGradients(const at::Tensor& query, const at::Tensor& noise,
                                                         const at::Tensor& column, const at::Tensor& row,
                                                         double log_factor, std::int64_t held,
                                                         const at::Tensor& gradient);

// The operators, dispatched on the device.
ISENTROPIC_API SoftplusSumOperator softplus_sum;
ISENTROPIC_API SoftplusSumBackwardOperator softplus_sum_backward;

}  // namespace isentropic::pytorch
