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
  norm_ = register_module("norm", layer_norm(options.d_model));
  attention_ = register_module("attention", pytorch::MultiHeadAttention(options));
}

pytorch::MultiHeadAttentionOutput AttentionBlockImpl::forward(const at::Tensor& x, const at::Tensor& memory,
                                                              const std::vector<std::int64_t>& weights_of_rows) {
  auto out = attention_(norm_(x), memory, memory, at::Tensor(), weights_of_rows);
  out.output = x + out.output;
  return out;
}

FeedForwardBlockImpl::FeedForwardBlockImpl(std::int64_t width) {
  norm_ = register_module("norm", layer_norm(width));
  up_ = register_module("up", torch::nn::Linear(width, 4 * width));
  down_ = register_module("down", torch::nn::Linear(4 * width, width));
}

at::Tensor FeedForwardBlockImpl::forward(const at::Tensor& x) { return x + down_(at::gelu(up_(norm_(x)))); }

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
