// Builds and runs the blocks of a small transformer.
#include "lab/attention_blocks.hpp"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

namespace isentropic::lab {

torch::nn::LayerNorm layer_norm(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

AttentionBlockImpl::AttentionBlockImpl(const pytorch::MultiHeadAttentionOptions& options) {
  norm = register_module("norm", layer_norm(options.d_model));
  attention = register_module("attention", pytorch::MultiHeadAttention(options));
}

pytorch::MultiHeadAttentionOutput AttentionBlockImpl::forward(const at::Tensor& x, const at::Tensor& memory,
                                                              const std::vector<std::int64_t>& weights_of_rows) {
  auto out = attention(norm(x), memory, memory, at::Tensor(), weights_of_rows);
  out.output = x + out.output;
  return out;
}

pytorch::MultiHeadAttentionOutput AttentionBlockImpl::last_rows(const at::Tensor& x, std::int64_t rows,
                                                                const std::vector<std::int64_t>& weights_of_rows) {
  const at::Tensor all = norm(x);
  const std::int64_t first = x.size(1) - rows;
  auto out = attention(all.narrow(1, first, rows), all, all, at::Tensor(), weights_of_rows);
  out.output = x.narrow(1, first, rows) + out.output;
  return out;
}

FeedForwardBlockImpl::FeedForwardBlockImpl(std::int64_t width) {
  norm = register_module("norm", layer_norm(width));
  up = register_module("up", torch::nn::Linear(width, 4 * width));
  down = register_module("down", torch::nn::Linear(4 * width, width));
}

at::Tensor FeedForwardBlockImpl::forward(const at::Tensor& x) { return x + down(at::gelu(up(norm(x)))); }

void draw_parameters(torch::nn::Module& module, std::uint64_t seed) {
  const at::NoGradGuard no_gradient;
  at::Generator generator = at::detail::createCPUGenerator(seed);
  for (const auto& item : module.named_parameters()) {
    at::Tensor parameter = item.value();
    if (parameter.dim() == 2)
      parameter.copy_(at::randn(parameter.sizes(), generator) / std::sqrt(static_cast<double>(parameter.size(1))));
    else if (item.key().ends_with("bias"))
      parameter.zero_();
  }
}

}  // namespace isentropic::lab
