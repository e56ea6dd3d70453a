// The blocks of a small transformer, each added to what it reads:
//
//   AttentionBlock     x + attention(norm x, memory)     memory: tokens of another kind to look at; norm x where none
//   FeedForwardBlock   x + W_2 gelu(W_1 norm x)          four times as wide inside
#pragma once

#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cstdint>

#include "isentropic/pytorch/multi_head_attention.hpp"

namespace isentropic::lab {

torch::nn::LayerNorm layer_norm(std::int64_t width);

class AttentionBlockImpl : public torch::nn::Module {
 public:
  explicit AttentionBlockImpl(const pytorch::MultiHeadAttentionOptions& options);

  // x [batch, n, width]; the output is the sum. memory [batch, n_k, width].
  pytorch::MultiHeadAttentionOutput forward(const at::Tensor& x, const at::Tensor& memory = {},
                                            const std::vector<std::int64_t>& weights_of_rows = {});
  // The same for the last `rows` tokens, which look at all of x: [batch, rows, width].
  pytorch::MultiHeadAttentionOutput last_rows(const at::Tensor& x, std::int64_t rows,
                                              const std::vector<std::int64_t>& weights_of_rows = {});

  torch::nn::LayerNorm norm{nullptr};
  pytorch::MultiHeadAttention attention{nullptr};
};
TORCH_MODULE(AttentionBlock);

class FeedForwardBlockImpl : public torch::nn::Module {
 public:
  explicit FeedForwardBlockImpl(std::int64_t width);

  at::Tensor forward(const at::Tensor& x);

  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Linear up{nullptr}, down{nullptr};
};
TORCH_MODULE(FeedForwardBlock);

// Matrices from N(0, 1 / inputs), biases 0, in the order of the module's parameters: what modules draw by themselves
// depends on what was drawn before.
void draw_parameters(torch::nn::Module& module, std::uint64_t seed);

}  // namespace isentropic::lab
