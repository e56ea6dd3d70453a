// Residual blocks of a small transformer:
//
//   AttentionBlock     x + attention(norm x, memory)     memory: tokens of another kind to attend to; norm x if none
//   FeedForwardBlock   x + W_2 gelu(W_1 norm x)          hidden layer four times as wide
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

  // x [batch, n, width], memory [batch, n_k, width]; the output includes the residual x.
  pytorch::MultiHeadAttentionOutput forward(const at::Tensor& x, const at::Tensor& memory = {},
                                            const std::vector<std::int64_t>& weights_of_rows = {});
  // The same for the last `rows` tokens, which attend to all of x: [batch, rows, width].
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

// Draws matrices from N(0, 1 / inputs) and sets biases to 0, in the order of the module's parameters: PyTorch's own
// initialisation depends on what was drawn before.
void draw_parameters(torch::nn::Module& module, std::uint64_t seed);

}  // namespace isentropic::lab
