// Multi-head attention whose scale grows with log n, as a module: lambda = kappa log n / d, n the keys a row can see.
//
//   EntropyInvariantAttention layer({.d_model = 512, .num_heads = 8, .mask = Mask::causal()});
//   auto [output, statistics, weights] = layer(x);
//
// The projections are named as in the Python module: W_Q, W_K, W_V, W_O.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include "isentropic/pytorch/attention.hpp"

namespace isentropic::pytorch {

enum class Positions : std::uint8_t { none, rotary, sinusoidal, relative };

struct EntropyInvariantAttentionOptions {
  std::int64_t d_model;
  std::int64_t num_heads;  // divides d_model
  double kappa = 1.0;
  bool learn_kappa = false;       // one for each head
  std::int64_t num_kv_heads = 0;  // 0: as many as heads
  std::string scale = "log_n";    // a law with one learnable parameter, which is kappa, or one without
  Mask mask = Mask::none();
  Positions positions = Positions::none;
  double base = 10000.0;            // of rotary and sinusoidal positions
  std::int64_t max_distance = 128;  // of relative positions
  double dropout = 0.0;
  Statistics statistics = Statistics::all();
};

struct EntropyInvariantAttentionOutput {
  at::Tensor output;                             // [batch, n_q, d_model]
  std::map<std::string, at::Tensor> statistics;  // each [batch, heads, n_q]
  at::Tensor weights;                            // [batch, heads, rows, n_k] of the rows asked for
};

class ISENTROPIC_API EntropyInvariantAttentionImpl : public torch::nn::Cloneable<EntropyInvariantAttentionImpl> {
 public:
  explicit EntropyInvariantAttentionImpl(EntropyInvariantAttentionOptions options);

  void reset() override;

  // Q [batch, n_q, d_model]; K and V [batch, n_k, d_model], Q and K when absent. mask: boolean, true where a query may
  // look, [batch, n_k], [batch, n_q, n_k] or [batch, heads or 1, n_q, n_k].
  EntropyInvariantAttentionOutput forward(const at::Tensor& Q, at::Tensor K = {}, at::Tensor V = {},
                                          const at::Tensor& mask = {},
                                          const std::vector<std::int64_t>& weights_of_rows = {});

  EntropyInvariantAttentionOptions options;
  torch::nn::Linear W_Q{nullptr}, W_K{nullptr}, W_V{nullptr}, W_O{nullptr};
  at::Tensor kappa;  // [] or, learnt, [heads]
  at::Tensor table;  // of relative positions, [heads, 2 max_distance + 1]

 private:
  at::Tensor heads(const at::Tensor& x, std::int64_t count) const;
  AttentionOptions attention_options(const at::Tensor& mask) const;
};

TORCH_MODULE(EntropyInvariantAttention);

}  // namespace isentropic::pytorch
