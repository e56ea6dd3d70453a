// The operators isentropic::softmax_loss and its backward (isentropic/softmax_loss.hpp).
//
// query [N, d], key [M, d], target int64 [N] (-1: none), scale [], bias [M].
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <tuple>

#include "isentropic/export.hpp"

namespace isentropic::pytorch {

using LossForward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;   // L, H, score [N]; records
using LossBackward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;  // query, key, scale [], bias

ISENTROPIC_API LossForward softmax_loss_forward(const at::Tensor& query, const at::Tensor& key,
                                                const at::Tensor& target, const at::Tensor& scale,
                                                const std::optional<at::Tensor>& bias, std::optional<double> soft_cap,
                                                bool others);

ISENTROPIC_API LossBackward softmax_loss_backward(const at::Tensor& query, const at::Tensor& key,
                                                  const at::Tensor& target, const at::Tensor& scale,
                                                  const std::optional<at::Tensor>& bias, std::optional<double> soft_cap,
                                                  bool others, const at::Tensor& records,
                                                  const std::optional<at::Tensor>& log_partition_gradient,
                                                  const std::optional<at::Tensor>& entropy_gradient,
                                                  const std::optional<at::Tensor>& score_gradient);

// The same out of PyTorch's operators, some rows at a time.
ISENTROPIC_API LossForward chunked_loss_forward(const at::Tensor& query, const at::Tensor& key,
                                                const at::Tensor& target, const at::Tensor& scale,
                                                const std::optional<at::Tensor>& bias, std::optional<double> soft_cap,
                                                bool others);

ISENTROPIC_API LossBackward chunked_loss_backward(const at::Tensor& query, const at::Tensor& key,
                                                  const at::Tensor& target, const at::Tensor& scale,
                                                  const std::optional<at::Tensor>& bias, std::optional<double> soft_cap,
                                                  bool others, const at::Tensor& records,
                                                  const std::optional<at::Tensor>& log_partition_gradient,
                                                  const std::optional<at::Tensor>& entropy_gradient,
                                                  const std::optional<at::Tensor>& score_gradient);

}  // namespace isentropic::pytorch
