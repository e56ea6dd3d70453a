// Losses over many classes without their logits, from C++: a streaming softmax over the rows of a matrix.
//
//   loss_i = log sum_v e^{s_iv} - s_{i, target_i},   s_iv = cap(scale * x_i . w_v) + b_v
//
//   auto [losses, entropy] = isentropic::pytorch::linear_cross_entropy(hidden, weight, targets, {.soft_cap = 30});
//   losses.mean().backward();
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "isentropic/export.hpp"

namespace isentropic::pytorch {

struct LinearCrossEntropyOptions {
  at::Tensor bias = {};  // [classes]
  double scale = 1.0;
  std::optional<double> soft_cap = {};
  std::int64_t ignore_index = -100;  // rows with this target have loss 0 and no gradient
};

struct LinearCrossEntropy {
  at::Tensor losses;   // [rows], nats; 0 where ignored
  at::Tensor entropy;  // [rows], of the predicted distribution
};

// input [rows, width], weight [classes, width], target int64 [rows].
ISENTROPIC_API LinearCrossEntropy linear_cross_entropy(const at::Tensor& input, const at::Tensor& weight,
                                                       const at::Tensor& target,
                                                       const LinearCrossEntropyOptions& options = {});

}  // namespace isentropic::pytorch
