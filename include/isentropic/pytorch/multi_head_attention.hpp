// Multi-head attention as a module, with any mask, scale law and score map.
//
//   out = W_O concat_h attention(W_Q Q, W_K K, W_V V)
//
//   MultiHeadAttentionOptions options{.d_model = 512, .num_heads = 8, .mask = Mask::causal()};
//   MultiHeadAttention layer(options);               // lambda = 1 / sqrt d, or options.scale
//   EntropyInvariantAttention invariant(options);    // lambda = log n / d, or options.scale
//   auto [output, statistics, weights] = invariant(x);
//
// With noise the heads pay for the information they pass on: the output o of each, before W_O, becomes
//
//   z = o + sigma eps,   sigma = softplus(raw_deviation),   eps ~ N(0, 1) in training, 0 in evaluation,
//
// and the statistic "rate" is KL(N(o, sigma^2) || N(0, 1)) in nats, whose mean is an upper bound on the information of
// z about everything the head saw: loss + beta * rate.mean() prices it. By hand: o = 1 and sigma = 1 in one feature,
// half a nat.
//
// State, by name: the projections W_Q, W_K, W_V and W_O; the learnable numbers of the scale law under their own names
// (kappa of log_n, alpha and beta of hybrid), as parameters when they are learnt and as buffers otherwise; raw_alpha of
// a learnt entmax, alpha = 1.001 + e^raw_alpha (1.5 at -0.695), so that no step can take it to 1 or below; the table of
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
  std::int64_t head_features = 0;   // d of queries and keys per head; 0: d_model / num_heads, as for values
  Mask mask = Mask::none();         // for every call, as in AttentionOptions
  std::optional<Scale> scale = {};  // absent: inverse_sqrt_d; log_n in EntropyInvariantAttention
  bool learn_scale = false;         // every learnable number of the law, per head
  ScoreMap map = ScoreMap::softmax();
  bool learn_alpha = false;  // of entmax, per head
  Positions positions = Positions::none;
  double base = 10000.0;            // of rotary and sinusoidal positions
  std::int64_t max_distance = 128;  // of relative positions
  std::optional<double> soft_cap = {};
  bool sinks = false;  // a learnt sink logit per head
  bool bias = true;    // of the projections
  double dropout = 0.0;
  double noise = 0.0;  // initial sigma, learnt for each feature of a head; 0: none
  Statistics statistics = Statistics::all();
};

struct MultiHeadAttentionOutput {
  at::Tensor output;                             // [batch, n_q, d_model]
  std::map<std::string, at::Tensor> statistics;  // each [batch, heads, n_q]; includes "rate" if there is noise
  at::Tensor weights;                            // [batch, heads, rows, n_k] for the rows requested
};

class ISENTROPIC_API MultiHeadAttentionImpl : public torch::nn::Cloneable<MultiHeadAttentionImpl> {
 public:
  explicit MultiHeadAttentionImpl(MultiHeadAttentionOptions options);

  void reset() override;

  // Q [batch, n_q, d_model]; K and V [batch, n_k, d_model], defaulting to Q and K respectively. mask: boolean, true
  // where a query may attend, [batch, n_k], [batch, n_q, n_k] or [batch, heads or 1, n_q, n_k].
  MultiHeadAttentionOutput forward(const at::Tensor& Q, at::Tensor K = {}, at::Tensor V = {},
                                   const at::Tensor& mask = {}, const std::vector<std::int64_t>& weights_of_rows = {});

  MultiHeadAttentionOptions options;
  torch::nn::Linear W_Q{nullptr}, W_K{nullptr}, W_V{nullptr}, W_O{nullptr};
  std::map<std::string, at::Tensor> scale_parameters;  // each [heads]
  at::Tensor raw_alpha;                                // of entmax, [heads]
  at::Tensor table;                                    // of relative positions, [heads, 2 max_distance + 1]
  at::Tensor sinks;                                    // [heads]
  at::Tensor raw_deviation;                            // of the noise, [heads, 1, d_model / heads]

  // [heads], for a learnt entmax.
  at::Tensor alpha() const;
  // The current sigma, shaped like raw_deviation.
  at::Tensor deviation() const;

 private:
  AttentionOptions attention_options(const at::Tensor& mask) const;
};

TORCH_MODULE(MultiHeadAttention);

// The same module with default scale log_n: kappa log n / d, where n is the number of keys a row can see.
class ISENTROPIC_API EntropyInvariantAttention : public MultiHeadAttention {
 public:
  using MultiHeadAttention::MultiHeadAttention;
  explicit EntropyInvariantAttention(MultiHeadAttentionOptions options);
};

// The same module with noise, starting at sigma = 0.01 unless set otherwise.
class ISENTROPIC_API NoisyAttention : public MultiHeadAttention {
 public:
  using MultiHeadAttention::MultiHeadAttention;
  explicit NoisyAttention(MultiHeadAttentionOptions options);
};

}  // namespace isentropic::pytorch
