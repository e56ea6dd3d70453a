// Trains language models, one step at a time, with the entropy of every head alongside the loss.
//
//   autoregressive   -log p(x_t | x_<t), the mean over all tokens
//   masked           -log p(x_t | the others), the mean over masked tokens: a pseudo-likelihood, since the terms do not
//                    multiply to the probability of a text
//
// A step depends only on (seed, step) and the state: batches, masks and dropout are drawn from a counter, so that an
// interrupted run resumes as if it had not been interrupted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isentropic/error.hpp"
#include "isentropic/pytorch/regularisers.hpp"
#include "lab/adamw.hpp"
#include "lab/corpus.hpp"
#include "lab/tensor_state.hpp"
#include "model/transformer.hpp"

namespace isentropic::lab {

enum class Objective : std::uint8_t { autoregressive, masked };

struct TrainingOptions {
  Objective objective = Objective::autoregressive;
  std::int64_t steps = 1000, batch = 8, length = 256;
  double learning_rate = 1e-3;
  std::int64_t warmup = 100;
  AdamWOptions adamw = {};
  double clip = 1.0;
  double attention_dropout = 0;
  pytorch::EntropyRegulariserOptions regulariser = {.weight = 0};
  double label_smoothing = 0;  // in [0, 1): the part of every target that is spread over the whole vocabulary
  std::uint64_t seed = 1;
  std::int64_t mask_token = -1;                  // masked: the id that stands for a masked token
  bool bfloat16 = false;                         // matrix products in bfloat16, parameters in float32; CUDA only
  std::int64_t statistics_every = 1;             // in steps; 0: never
  bool torch_attention = false;                  // PyTorch's attention, except in steps with statistics
  model::AttentionFunction attention = nullptr;  // instead of the model's
};

struct StepReport {
  std::int64_t step = 0;
  double loss = 0, gradient_norm = 0, learning_rate = 0;
  std::vector<std::vector<double>> entropy, normalised_entropy;  // by layer and head
};

// Noise added in validation, the same every time: how robust a model is.
struct ValidationNoise {
  // Standard deviation of normal noise on every scaled score, x_j = lambda q.k_j + scores e_j; not for target entropy.
  double scores = 0;
  double tokens = 0;  // fraction of the input tokens replaced by uniformly drawn ones; the targets stay
};

// Thrown for a loss or a gradient that is not finite.
struct Diverged : Error {
  using Error::Error;
};

class Trainer {
 public:
  Trainer(model::Transformer& model, const Corpus& corpus, TrainingOptions options);

  // One update. Throws Diverged if the loss or the gradient norm is not finite; the parameters are then unchanged.
  StepReport step();
  std::int64_t steps_done() const { return done_; }

  // The mean loss over at most `windows` windows of held-out text, the same ones every time.
  double validation_loss(std::int64_t windows = 64, const ValidationNoise& noise = {});

  // Parameters, moments and the number of steps, as one safetensors file.
  void save(const std::string& path) const;
  // Throws Error unless the file is a state of this model's training.
  void load(const std::string& path);
  // For callers that save by themselves: the tensors that a step changes, and a notice that they now hold the values
  // after `steps` steps.
  NamedTensors state() const;
  void go_on_from(std::int64_t steps);

 private:
  struct Batch {
    at::Tensor ids, targets;
  };
  struct Losses {
    at::Tensor plain, smoothed;  // cross-entropy; the same with label smoothing, used for training
  };
  Batch draw(std::int64_t step) const;
  Batch windows_of(const std::vector<std::int32_t>& tokens, const std::vector<std::int64_t>& starts,
                   std::uint64_t seed) const;
  void mask(Batch& batch, std::uint64_t seed) const;
  bool has_statistics(std::int64_t step) const;
  model::ForwardOptions forward_options(std::int64_t step) const;
  Losses losses_of(const Batch& batch, const model::ForwardOptions& options, pytorch::LayerStatistics* statistics);
  void add_noise(const ValidationNoise& noise, Batch& batch, model::ForwardOptions& options) const;

  model::Transformer& model_;
  const Corpus& corpus_;
  TrainingOptions options_;
  AdamW optimiser_;
  std::int64_t done_ = 0;
};

}  // namespace isentropic::lab
