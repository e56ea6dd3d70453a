// The scale of every row, from its law or solved for a target entropy, and the gradients of the law.
#pragma once

#include "attention/problem/dims.hpp"
#include "attention/problem/visibility.hpp"
#include "isentropic/attention.hpp"

namespace isentropic {

RowState row_scales(const AttentionProblem& problem);

// The law's input for row (b, h, i).
ScaleInput scale_input(const AttentionProblem& problem, const Visibility& visibility, const RowState& state,
                       std::int64_t b, std::int64_t h, std::int64_t i);

// [heads] per learnable parameter: the sum over batch and rows of dlambda_i d lambda_i / d parameter.
std::vector<Tensor> scale_parameter_gradients(const AttentionProblem& problem, const RowState& state,
                                              const Tensor& lambda_gradient);

}  // namespace isentropic
