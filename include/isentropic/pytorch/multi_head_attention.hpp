// Multi-head attention as a module, with any mask, scale law and score map.
//
//   out = W_O concat_h attention(W_Q Q, W_K K, W_V V)
//
//   MultiHeadAttentionOptions options{.d_model = 512, .num_heads = 8, .mask = Mask::causal()};
//   MultiHeadAttention layer(options);               // lambda = 1 / sqrt d, or options.scale
//   EntropyInvariantAttention invariant(options);    // lambda = log n / d, or options.scale
//   auto [output, statistics, weights] = invariant(x);
//
// With noise the heads pay for what they pass on: the output o of each, before W_O, becomes
//
//   z = o + sigma eps,   sigma = softplus(raw_deviation),   eps ~ N(0, 1) in training, 0 in evaluation,
//
// and the statistic "rate" is KL(N(o, sigma^2) || N(0, 1)) in nats, whose mean is at least the information of z about
// all that the head saw: loss + beta * rate.mean() prices it. By hand: o = 1 and sigma = 1 in one feature, half a nat.
//
// State, by name: the projections W_Q, W_K, W_V and W_O; the learnable numbers of the scale law as it calls them (kappa
// of log_n, alpha and beta of hybrid), parameters when they are learnt and buffers when they are not; raw_alpha of an
// entmax that is learnt, alpha = 1.001 + e^raw_alpha (1.5 at -0.695), which no step takes to 1 or below; the table of
// relative positions; sinks; raw_deviation of the noise.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include "isentropic/pytorch/attention.hpp"
#include "isentropic/pytorch/positions.hpp"

namespace isentropic::pytorch {

struct MultiHeadAttentionOptions {
  std::int64_t d_model;
  std::int64_t num_heads;           // divides d_model
  std::int64_t num_kv_heads = 0;    // 0: as many as heads
  std::int64_t head_features = 0;   // d of queries and keys in a head; 0: d_model / num_heads, as of values
  Mask mask = Mask::none();         // of every call, as in AttentionOptions
  std::optional<Scale> scale = {};  // absent: inverse_sqrt_d; of EntropyInvariantAttention log_n
  bool learn_scale = false;         // every learnable number of the law, for each head
  ScoreMap map = ScoreMap::softmax();
  bool learn_alpha = false;  // of entmax, for each head
  Positions positions = Positions::none;
  double base = 10000.0;            // of rotary and sinusoidal positions
  std::int64_t max_distance = 128;  // of relative positions
  std::optional<double> soft_cap = {};
  bool sinks = false;  // a learnt sink logit for each head
  bool bias = true;    // of the projections
  double dropout = 0.0;
  double noise = 0.0;  // sigma at the start, learnt for each feature of a head; 0: none
  Statistics statistics = Statistics::all();
};

struct MultiHeadAttentionOutput {
  at::Tensor output;                             // [batch, n_q, d_model]
  std::map<std::string, at::Tensor> statistics;  // each [batch, heads, n_q]; with noise "rate" is one of them
  at::Tensor weights;                            // [batch, heads, rows, n_k] of the rows asked for
};

class ISENTROPIC_API MultiHeadAttentionImpl : public torch::nn::Cloneable<MultiHeadAttentionImpl> {
 public:
  explicit MultiHeadAttentionImpl(MultiHeadAttentionOptions options);

  void reset() override;

  // Q [batch, n_q, d_model]; K and V [batch, n_k, d_model], Q and K when absent. mask: boolean, true where a query may
  // look, [batch, n_k], [batch, n_q, n_k] or [batch, heads or 1, n_q, n_k].
  MultiHeadAttentionOutput forward(const at::Tensor& Q, at::Tensor K = {}, at::Tensor V = {},
                                   const at::Tensor& mask = {}, const std::vector<std::int64_t>& weights_of_rows = {});

  MultiHeadAttentionOptions options;
  torch::nn::Linear W_Q{nullptr}, W_K{nullptr}, W_V{nullptr}, W_O{nullptr};
  std::map<std::string, at::Tensor> scale_parameters;  // each [heads]
  at::Tensor raw_alpha;                                // of entmax, [heads]
  at::Tensor table;                                    // of relative positions, [heads, 2 max_distance + 1]
  at::Tensor sinks;                                    // [heads]
  at::Tensor raw_deviation;                            // of the noise, [heads, 1, d_model / heads]

  // [heads], of an entmax that is learnt.
  at::Tensor alpha() const;
  // sigma as it stands, as raw_deviation.
  at::Tensor deviation() const;

 private:
  AttentionOptions attention_options(const at::Tensor& mask) const;
};

TORCH_MODULE(MultiHeadAttention);

// The same module whose scale, unless another is given, is log_n: kappa log n / d, n the keys a row can see.
class ISENTROPIC_API EntropyInvariantAttention : public MultiHeadAttention {
 public:
  using MultiHeadAttention::MultiHeadAttention;
  explicit EntropyInvariantAttention(MultiHeadAttentionOptions options);
};

// The same module with noise, from sigma = 0.01 unless another start is given.
class ISENTROPIC_API NoisyAttention : public MultiHeadAttention {
 public:
  using MultiHeadAttention::MultiHeadAttention;
  explicit NoisyAttention(MultiHeadAttentionOptions options);
};

}  // namespace isentropic::pytorch
