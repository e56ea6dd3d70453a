// The operators isentropic::softmax_loss and its backward (isentropic/softmax_loss.hpp).
//
// query [N, d], key [M, d], target int64 [N] (-1: none), scale [], bias [M].
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <tuple>

#include "isentropic/export.hpp"

namespace isentropic::pytorch {

using LossForward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;   // loss, L, H [N]; records
using LossBackward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;  // query, key, scale [], bias

using LossForwardOperator = LossForward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                                        const at::Tensor& scale, const std::optional<at::Tensor>& bias,
                                        std::optional<double> soft_cap, bool exclude_self);

using LossBackwardOperator = LossBackward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                                          const at::Tensor& scale, const std::optional<at::Tensor>& bias,
                                          std::optional<double> soft_cap, bool exclude_self, const at::Tensor& loss,
                                          const at::Tensor& records, const std::optional<at::Tensor>& loss_gradient,
                                          const std::optional<at::Tensor>& log_partition_gradient,
                                          const std::optional<at::Tensor>& entropy_gradient);

// The operators, whatever the device.
ISENTROPIC_API LossForwardOperator softmax_loss_forward;
ISENTROPIC_API LossBackwardOperator softmax_loss_backward;

// The same out of PyTorch's operators, some rows at a time.
ISENTROPIC_API LossForwardOperator chunked_loss_forward;
ISENTROPIC_API LossBackwardOperator chunked_loss_backward;

}  // namespace isentropic::pytorch
