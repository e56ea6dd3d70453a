// Losses over many classes without their logits, from C++: a streaming softmax over the rows of a matrix.
//
//   loss_i = log sum_v e^{s_iv} - s_{i, target_i},   s_iv = cap(scale * x_i . w_v) + b_v
//
//   auto [losses, entropy] = isentropic::pytorch::linear_cross_entropy(hidden, weight, targets, {.soft_cap = 30});
//   losses.mean().backward();
//
// Training wants the mean alone: with {.mean = true} its gradients are formed on a GPU while the scores are at hand, a
// quarter of the products less.
#pragma once

#include <ATen/ATen.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include <optional>

#include "isentropic/export.hpp"

namespace isentropic::pytorch {

struct LinearCrossEntropyOptions {
  at::Tensor bias = {};  // [classes]
  double scale = 1.0;
  std::optional<double> soft_cap = {};
  std::int64_t ignore_index = -100;  // rows with this target have loss 0 and no gradient
  bool mean = false;                 // over the rows that count, instead of every loss
};

struct LinearCrossEntropyOutput {
  at::Tensor losses;   // [...], nats; 0 where ignored; or their mean []
  at::Tensor entropy;  // [...], of the predicted distribution
};

// input [..., width], weight [classes, width], target int64 [...].
ISENTROPIC_API LinearCrossEntropyOutput linear_cross_entropy(const at::Tensor& input, const at::Tensor& weight,
                                                             const at::Tensor& target,
                                                             const LinearCrossEntropyOptions& options = {});

struct LinearCrossEntropyModuleOptions {
  std::int64_t width;
  std::int64_t classes;
  bool bias = false;
  bool tied = false;  // the weight is another module's (an embedding's) and is given to every call
  double scale = 1.0;
  std::optional<double> soft_cap = {};
  std::int64_t ignore_index = -100;
  bool mean = false;
};

// The last layer of a classifier and its loss in one. State: weight [classes, width] unless it is tied, and bias
// [classes] if there is one; both start as those of torch::nn::Linear.
class ISENTROPIC_API LinearCrossEntropyImpl : public torch::nn::Cloneable<LinearCrossEntropyImpl> {
 public:
  explicit LinearCrossEntropyImpl(LinearCrossEntropyModuleOptions options);

  void reset() override;

  LinearCrossEntropyOutput forward(const at::Tensor& input, const at::Tensor& target,
                                   const at::Tensor& tied_weight = {});

  LinearCrossEntropyModuleOptions options;
  at::Tensor weight, bias;  // undefined: none of its own
};

TORCH_MODULE(LinearCrossEntropy);

}  // namespace isentropic::pytorch
