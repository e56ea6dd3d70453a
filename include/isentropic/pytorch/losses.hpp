// Losses over many classes without materialised logits, from C++: a streaming softmax over the rows of a matrix.
//
//   loss_i = (1 - epsilon) (L_i - s_{i, target_i}) + epsilon (L_i - mean_v s_iv) + z L_i^2,
//   L_i = log sum_v e^{s_iv},   s_iv = cap(scale * x_i . w_v) + b_v
//
//   auto [loss, entropy, bound, ceiling] = isentropic::pytorch::linear_cross_entropy(hidden, weight, targets);
//   loss.backward();
//
// On a GPU, gradients of a mean or a sum are computed while the scores are available, which saves a quarter of the
// products.
#pragma once

#include <ATen/ATen.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <optional>

#include "isentropic/export.hpp"

namespace isentropic::pytorch {

enum class Reduction : std::uint8_t { none, mean, sum };

// A loss and what it implies about information.
struct Loss {
  at::Tensor loss;     // [], or [...] without a reduction; nats
  at::Tensor entropy;  // [...], of every row's distribution over the candidates; differentiable
  at::Tensor bound;    // lower bound on the information named by the function; undefined if there is none. A batch
                       // gives a sample of it: the bound holds in expectation
  at::Tensor ceiling;  // what the bound can never exceed
};

struct LinearCrossEntropyOptions {
  at::Tensor bias = {};  // [classes]
  double scale = 1.0;
  std::optional<double> soft_cap = {};
  std::int64_t ignore_index = -100;  // rows with this target are ignored
  double label_smoothing = 0.0;      // epsilon
  double z_loss = 0.0;               // z
  at::Tensor example_weight = {};    // [...]; the mean is over the sum of weights
  // H(X) of the targets, for the bound; if absent, the plug-in estimate of this batch, which is too low for small
  // batches, so the bound errs on the safe side.
  std::optional<double> source_entropy = {};
  Reduction reduction = Reduction::mean;
};

// input [..., width], weight [classes, width], target int64 [...]. bound: I(X; input) >= H(X) - CE, X the targets;
// ceiling: H(X). With two classes and the correct one favoured by e^2 to 1 in every row, CE is log(1 + e^-2) = 0.1269;
// with equally many targets of each class the bound is log 2 - 0.1269 = 0.5662 nats.
ISENTROPIC_API Loss linear_cross_entropy(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& target,
                                         const LinearCrossEntropyOptions& options = {});

// Next-token prediction: hidden[:, t] predicts tokens[:, t + 1]. hidden [batch, n, width], tokens [batch, n].
ISENTROPIC_API Loss causal_lm_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& tokens,
                                   const LinearCrossEntropyOptions& options = {});
// Predicts the tokens where masked, bool [batch, n], is true; other rows are not computed.
ISENTROPIC_API Loss masked_lm_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& tokens,
                                   const at::Tensor& masked, const LinearCrossEntropyOptions& options = {});

struct SoftCrossEntropyOptions {
  at::Tensor ids = {};       // int64 [..., k]: the classes the target covers; the target is then [..., k]
  bool logits = false;       // the target is a teacher's logits rather than probabilities
  double temperature = 1.0;  // divides the logits, and the teacher's if given
  at::Tensor bias = {};      // [classes]
  std::optional<double> soft_cap = {};
  at::Tensor example_weight = {};  // [...]; rows of weight 0 are ignored; the mean is over the sum of weights
  Reduction reduction = Reduction::mean;
};

// Cross-entropy against distributions over the classes (distillation), [..., classes] or the few of `ids`:
//
//   loss_i = -sum_v t_iv log p_iv = m_i L_i - sum_v t_iv s_iv,   s_iv = (cap(x_i . w_v) + b_v) / temperature
//
// with the mass m_i = sum_v t_iv, 1 for probabilities. By linearity in s nothing of size [..., classes] is formed
// except the targets, which get no gradient. loss - H(t) is the divergence KL(t || p).
//   p = (1/2, 1/2), t = (3/4, 1/4): loss log 2 = 0.6931, H(t) = 0.5623, KL = 0.1308.
// bound: I(X; input) >= H(X) - loss where X is drawn from the targets and H(X) is the entropy of their mean; the loss
// is at least the mean of H(t), so `ceiling` is H(X) minus that mean. Both treat targets as distributions, t / m, and
// weight rows in proportion to m. Negative targets are rejected on the CPU; on a GPU they are not checked for.
ISENTROPIC_API Loss soft_cross_entropy(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& target,
                                       const SoftCrossEntropyOptions& options = {});

struct LinearCrossEntropyModuleOptions {
  std::int64_t width;
  std::int64_t classes;
  bool bias = false;
  bool tied = false;  // the weight belongs to another module (an embedding) and is passed to every call
  double scale = 1.0;
  std::optional<double> soft_cap = {};
  std::int64_t ignore_index = -100;
  double label_smoothing = 0.0, z_loss = 0.0;
  Reduction reduction = Reduction::mean;
};

// The last layer of a classifier and its loss in one. State: weight [classes, width] unless tied, and bias [classes] if
// enabled; both are initialised as in torch::nn::Linear.
class ISENTROPIC_API LinearCrossEntropyImpl : public torch::nn::Cloneable<LinearCrossEntropyImpl> {
 public:
  explicit LinearCrossEntropyImpl(LinearCrossEntropyModuleOptions options);

  void reset() override;

  Loss forward(const at::Tensor& input, const at::Tensor& target, const at::Tensor& tied_weight = {});

  LinearCrossEntropyModuleOptions options;
  at::Tensor weight, bias;  // undefined if the module has none of its own
};

TORCH_MODULE(LinearCrossEntropy);

}  // namespace isentropic::pytorch
