// The operators isentropic::softmax_loss, its backward, and softmax_loss_total (isentropic/softmax_loss.hpp).
//
// query [N, d], key [M, d], target int64 [N] (-1: none), scale [], bias [M]. The total is what training mostly needs,
//
//   sum_i weight_i (loss_factor loss_i + partition_factor L_i + square_factor L_i^2),
//
// without rows of weight 0. Its upstream gradient is one number, so the gradients can be computed while the scores are
// available (form_gradients), and the backward pass only has to multiply.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <tuple>

#include "isentropic/export.hpp"

namespace isentropic::pytorch {

using LossForward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;   // loss, L, H [N]; records
using LossBackward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;  // query, key, scale [], bias

// The total []; loss, L, H [N]; records; gradients as in LossBackward, for an upstream gradient of 1, or empty.
using LossTotal = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor,
                             at::Tensor, at::Tensor>;

using LossForwardOperator = LossForward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                                        const at::Tensor& scale, const std::optional<at::Tensor>& bias,
                                        std::optional<double> soft_cap, bool exclude_self);

using LossBackwardOperator = LossBackward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                                          const at::Tensor& scale, const std::optional<at::Tensor>& bias,
                                          std::optional<double> soft_cap, bool exclude_self, const at::Tensor& loss,
                                          const at::Tensor& records, const std::optional<at::Tensor>& loss_gradient,
                                          const std::optional<at::Tensor>& log_partition_gradient,
                                          const std::optional<at::Tensor>& entropy_gradient);

// weights: [N] in the type of statistics; they get no gradient.
using LossTotalOperator = LossTotal(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                                    const at::Tensor& scale, const std::optional<at::Tensor>& bias,
                                    const at::Tensor& weights, std::optional<double> soft_cap, bool exclude_self,
                                    double loss_factor, double partition_factor, double square_factor,
                                    bool form_gradients);

// The operators, dispatched on the device.
ISENTROPIC_API LossForwardOperator softmax_loss_forward;
ISENTROPIC_API LossBackwardOperator softmax_loss_backward;
ISENTROPIC_API LossTotalOperator softmax_loss_total;

// The same composed of PyTorch's operators, some rows at a time.
ISENTROPIC_API LossForwardOperator chunked_loss_forward;
ISENTROPIC_API LossBackwardOperator chunked_loss_backward;

// The total composed of the other two operators.
ISENTROPIC_API LossTotalOperator loss_total_by_rows;

// The upstream gradients of the rows of a total: of loss and L, for an upstream gradient of 1.
struct TotalUpstream {
  at::Tensor loss, log_partition;  // [N]
};
TotalUpstream upstream_of_total(const at::Tensor& weights, const at::Tensor& log_partition, double loss_factor,
                                double partition_factor, double square_factor);

// The total itself, computed from the rows.
at::Tensor total_of_rows(const at::Tensor& weights, const at::Tensor& loss, const at::Tensor& log_partition,
                         double loss_factor, double partition_factor, double square_factor);

// Kernels for NVIDIA GPUs, if they were built (ISENTROPIC_CUDA): they register themselves when the library is loaded.
// What they do not support goes to the chunked operators above.
struct CudaLosses {
  bool (*take)(const at::Tensor& query, const at::Tensor& key);
  LossForwardOperator* forward;
  LossBackwardOperator* backward;
  LossTotalOperator* total;
};

// Null if none were built.
inline const CudaLosses*& cuda_losses() {
  static const CudaLosses* kernels = nullptr;
  return kernels;
}

}  // namespace isentropic::pytorch
