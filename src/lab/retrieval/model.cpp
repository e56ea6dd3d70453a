// Builds and runs the network of a retrieval task.
#include "lab/retrieval/model.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace isentropic::lab::retrieval {
namespace {

torch::nn::LayerNorm make_norm(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

bool decays(const ScoreMap& map) {
  return std::ranges::any_of(map.gamma().values(), [](double gamma) { return gamma != 1; });
}

}  // namespace

Model::Model(const Task& task, const ModelOptions& options, std::uint64_t seed) {
  embed_ = register_module("embed", torch::nn::Linear(task.features, options.width));
  for (std::int64_t layer = 0; layer < task.layers; ++layer)
    blocks_.push_back(make_block(task, options, "layers" + std::to_string(layer)));
  last_norm_ = register_module("last_norm", make_norm(options.width));
  out_ = register_module("out", torch::nn::Linear(options.width, task.classes));
  draw_parameters(seed);
  if (!options.key_bias) leave_out_key_biases();
}

Model::Block Model::make_block(const Task& task, const ModelOptions& options, const std::string& name) {
  pytorch::MultiHeadAttentionOptions attention{.d_model = options.width, .num_heads = options.heads};
  attention.scale = options.scale;
  attention.learn_scale = options.learn_scale;
  attention.map = options.map;
  attention.learn_alpha = options.learn_alpha;
  attention.head_features = options.features;
  // The token that asks stands behind the others, alone as with them.
  attention.mask = decays(options.map) ? Mask::causal(Align::end) : Mask::none().aligned(Align::end);
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

// They stay 0, as they were drawn.
void Model::leave_out_key_biases() {
  embed_->bias.requires_grad_(false);
  for (Block& block : blocks_) {
    block.attention_norm->bias.requires_grad_(false);
    block.attention->W_K->bias.requires_grad_(false);
  }
}

torch::OrderedDict<std::string, at::Tensor> Model::trained_parameters() const {
  torch::OrderedDict<std::string, at::Tensor> out;
  for (const auto& item : named_parameters())
    if (item.value().requires_grad()) out.insert(item.key(), item.value());
  return out;
}

at::Tensor Model::before_last_layer(const at::Tensor& inputs) {
  at::Tensor x = embed_(inputs);
  for (Block& block : blocks_) {
    if (&block == &blocks_.back()) break;
    x = x + block.attention(block.attention_norm(x)).output;
    x = x + block.down(at::gelu(block.up(block.norm(x))));
  }
  return x;
}

Answer Model::forward(const at::Tensor& inputs) {
  at::Tensor x = before_last_layer(inputs);
  Block& block = blocks_.back();
  const at::Tensor tokens = block.attention_norm(x);
  // Only the token that asks is used.
  auto [output, statistics, weights] = block.attention(tokens.narrow(1, tokens.size(1) - 1, 1), tokens, tokens);
  x = x.narrow(1, x.size(1) - 1, 1) + output;
  x = x + block.down(at::gelu(block.up(block.norm(x))));
  return {out_(last_norm_(x.select(1, -1))), std::move(statistics)};
}

at::Tensor Model::weights(const at::Tensor& inputs, std::int64_t rows) {
  Block& block = blocks_.back();
  const at::Tensor tokens = block.attention_norm(before_last_layer(inputs));
  std::vector<std::int64_t> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  return block.attention(tokens.narrow(1, tokens.size(1) - rows, rows), tokens, tokens, at::Tensor(), all).weights;
}

std::vector<double> Model::alphas() const {
  const pytorch::MultiHeadAttention& attention = blocks_.back().attention;
  if (!attention->options.learn_alpha) return {};
  const at::Tensor alpha = attention->alpha().detach().to(at::kCPU, at::kDouble);
  return {alpha.const_data_ptr<double>(), alpha.const_data_ptr<double>() + alpha.numel()};
}

}  // namespace isentropic::lab::retrieval
