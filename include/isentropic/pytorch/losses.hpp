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

#include <cstdint>
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

enum class Reduction : std::uint8_t { none, mean, sum };

// A loss with what it says about information.
struct Loss {
  at::Tensor loss;     // [], or [...] without a reduction; nats
  at::Tensor entropy;  // [...], of every row's distribution over the candidates; with gradient
  at::Tensor bound;    // lower bound on the information that the function names; undefined where there is none. A
                       // batch is a sample of it: the bound holds for the expectation
  at::Tensor ceiling;  // what the bound can never exceed
};

struct SoftCrossEntropyOptions {
  at::Tensor ids = {};       // int64 [..., k]: the classes that the target speaks of; it then is [..., k]
  bool logits = false;       // the target is a teacher's logits rather than probabilities
  double temperature = 1.0;  // divides the logits, and the teacher's where those are given
  at::Tensor bias = {};      // [classes]
  std::optional<double> soft_cap = {};
  at::Tensor example_weight = {};  // [...]; rows of weight 0 count for nothing; the mean is over the sum of weights
  Reduction reduction = Reduction::mean;
};

// Cross-entropy against distributions over the classes (distillation), [..., classes] or the few of `ids`:
//
//   loss_i = -sum_v t_iv log p_iv = m_i L_i - sum_v t_iv s_iv,   s_iv = (cap(x_i . w_v) + b_v) / temperature
//
// with the mass m_i = sum_v t_iv, 1 for probabilities. By linearity in s nothing of the size [..., classes] is formed
// beside the targets, which get no gradient. loss - H(t) is the divergence KL(t || p).
//   p = (1/2, 1/2), t = (3/4, 1/4): loss log 2 = 0.6931, H(t) = 0.5623, KL = 0.1308.
// bound: I(X; input) >= H(X) - loss where X is drawn from the targets and H(X) is the entropy of their mean; the loss
// is at least the mean of H(t), so that `ceiling` is H(X) less that mean.
ISENTROPIC_API Loss soft_cross_entropy(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& target,
                                       const SoftCrossEntropyOptions& options = {});

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
