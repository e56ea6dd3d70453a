// Training of language models: one step at a time, with the information of every head beside the loss.
//
//   autoregressive   -log p(x_t | x_<t), the mean over all tokens
//   masked           -log p(x_t | the others), the mean over masked tokens: a pseudo-likelihood, since the terms do not
//                    multiply to the probability of a text
//
// A step depends on (seed, step) and the state alone: batches, masks and dropout are drawn from a counter, so that a
// run that was interrupted goes on as if it had not been.
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
  double label_smoothing = 0;  // in [0, 1): that much of every target is spread over the whole vocabulary
  std::uint64_t seed = 1;
  std::int64_t mask_token = -1;                  // masked: the id that stands for a masked token
  bool bfloat16 = false;                         // products in bfloat16, parameters in float32; CUDA
  std::int64_t statistics_every = 1;             // steps; 0: never
  bool torch_attention = false;                  // PyTorch's attention, except in steps with statistics
  model::AttentionFunction attention = nullptr;  // instead of the model's
};

struct StepReport {
  std::int64_t step = 0;
  double loss = 0, gradient_norm = 0, learning_rate = 0;
  std::vector<std::vector<double>> entropy, normalised_entropy;  // by layer and head
};

// What a validation adds to its texts, the same every time: how robust a model is.
struct ValidationNoise {
  // Deviation of the normal noise on every scaled score, x_j = lambda q.k_j + scores e_j; not under a target entropy.
  double scores = 0;
  double tokens = 0;  // share of the tokens read that are others, drawn uniformly; those to be predicted stay
};

// A loss or a gradient that is not finite.
struct Diverged : Error {
  using Error::Error;
};

class Trainer {
 public:
  Trainer(model::Transformer& model, const Corpus& corpus, TrainingOptions options);

  // One update. Throws Diverged when the loss is not finite; parameters are then as they were.
  StepReport step();
  std::int64_t steps_done() const { return done_; }

  // The mean loss over at most `windows` windows of held-out text, the same ones every time.
  double validation_loss(std::int64_t windows = 64, const ValidationNoise& noise = {});

  // Parameters, moments and the number of steps, as one safetensors file.
  void save(const std::string& path) const;
  // Throws Error unless the file is one of this model's.
  void load(const std::string& path);
  // The same for a caller that saves by itself: what a step changes, and that those tensors are as after so many steps.
  NamedTensors state() const;
  void go_on_from(std::int64_t steps);

 private:
  struct Batch {
    at::Tensor ids, targets;
  };
  struct Losses {
    at::Tensor plain, smoothed;  // cross-entropy; with label smoothing, what is trained
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
