// What all backward passes share besides kernels.
#pragma once

#include "attention/dims.hpp"
#include "tensor/element.hpp"

namespace isentropic {

// Zero gradients of query, key, value and lambda.
AttentionGradients allocate_gradients(const AttentionProblem& problem);

// [heads]: value(row) summed over batch and queries.
template <class F>
Tensor sum_by_head(const Dims& dims, DType type, F value) {
  std::vector<double> sums(dims.heads, 0.0);
  for (std::int64_t row = 0; row < dims.rows(); ++row) sums[row / dims.n_q % dims.heads] += value(row);
  Tensor out(type, {dims.heads});
  store(out, 0, dims.heads, sums.data());
  return out;
}

// [heads] for each learnable parameter: sum over batch and rows of dlambda_i d lambda_i / d parameter.
std::vector<Tensor> scale_parameter_gradients(const AttentionProblem& problem, const RowScales& scales,
                                              const Tensor& lambda_gradient);

}  // namespace isentropic
