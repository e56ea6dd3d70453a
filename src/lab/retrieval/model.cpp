// Builds and runs the network of a retrieval task.
#include "lab/retrieval/model.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

namespace isentropic::lab::retrieval {
namespace {

torch::nn::LayerNorm make_norm(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

}  // namespace

Model::Model(const Task& task, const ModelOptions& options, std::uint64_t seed) {
  embed_ = register_module("embed", torch::nn::Linear(task.features, options.width));
  for (std::int64_t layer = 0; layer < task.layers; ++layer)
    blocks_.push_back(make_block(task, options, "layers" + std::to_string(layer)));
  last_norm_ = register_module("last_norm", make_norm(options.width));
  out_ = register_module("out", torch::nn::Linear(options.width, task.classes));
  draw_parameters(seed);
}

Model::Block Model::make_block(const Task& task, const ModelOptions& options, const std::string& name) {
  pytorch::MultiHeadAttentionOptions attention{.d_model = options.width, .num_heads = options.heads};
  attention.scale = options.scale;
  attention.learn_scale = options.learn_scale;
  attention.map = options.map;
  if (task.needs_positions) attention.positions = pytorch::Positions::rotary;
  attention.statistics = Statistics::of({Statistic::sparsity, Statistic::participation});
  if (options.map.is_distribution()) attention.statistics = attention.statistics.with(Statistic::entropy);
  Block out;
  out.attention_norm = register_module(name + "_attention_norm", make_norm(options.width));
  out.attention = register_module(name + "_attention", pytorch::MultiHeadAttention(attention));
  out.norm = register_module(name + "_norm", make_norm(options.width));
  out.up = register_module(name + "_up", torch::nn::Linear(options.width, 4 * options.width));
  out.down = register_module(name + "_down", torch::nn::Linear(4 * options.width, options.width));
  return out;
}

// Matrices from N(0, 1 / inputs), biases 0: what modules draw by themselves depends on what was drawn before.
void Model::draw_parameters(std::uint64_t seed) {
  const at::NoGradGuard no_gradient;
  at::Generator generator = at::detail::createCPUGenerator(seed);
  for (const auto& item : named_parameters()) {
    at::Tensor parameter = item.value();
    if (parameter.dim() == 2)
      parameter.copy_(at::randn(parameter.sizes(), generator) / std::sqrt(static_cast<double>(parameter.size(1))));
    else if (item.key().ends_with("bias"))
      parameter.zero_();
  }
}

Answer Model::forward(const at::Tensor& inputs) {
  at::Tensor x = embed_(inputs);
  Answer out;
  for (Block& block : blocks_) {
    const at::Tensor tokens = block.attention_norm(x);
    // Of the last layer only the token that asks is used.
    const bool is_last = &block == &blocks_.back();
    if (is_last) x = x.narrow(1, x.size(1) - 1, 1);
    auto [output, statistics, weights] =
        block.attention(is_last ? tokens.narrow(1, tokens.size(1) - 1, 1) : tokens, tokens, tokens);
    x = x + output;
    x = x + block.down(at::gelu(block.up(block.norm(x))));
    if (is_last) out.statistics = std::move(statistics);
  }
  out.logits = out_(last_norm_(x.select(1, -1)));
  return out;
}

}  // namespace isentropic::lab::retrieval
