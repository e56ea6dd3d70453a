// Attention out of PyTorch's own operators, some rows at a time: exact on any device, without n x n memory.
//
// For devices that have no kernels here yet. Softmax maps with every mask, law and score term; the gradient forms the
// scores of the same rows again. What needs several passes or our random numbers (other maps, wanted entropy, dropout,
// key groups) takes the CPU's kernels on copies.
#pragma once

#include "pytorch/attention.hpp"

namespace isentropic::pytorch {

ISENTROPIC_API Forward chunked_forward(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                                       const std::optional<at::Tensor>& value, at::TensorList terms);

ISENTROPIC_API Backward chunked_backward(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                                         const std::optional<at::Tensor>& value, at::TensorList terms,
                                         const at::Tensor& output, const at::Tensor& rows, const at::Tensor& selected,
                                         const std::optional<at::Tensor>& output_gradient,
                                         const std::optional<at::Tensor>& statistics_gradient, bool bias_gradient);

}  // namespace isentropic::pytorch
