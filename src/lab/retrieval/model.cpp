// Builds and runs the network of a retrieval task.
#include "lab/retrieval/model.hpp"

#include <algorithm>
#include <numeric>

namespace isentropic::lab::retrieval {
namespace {

bool decays(const ScoreMap& map) {
  return std::ranges::any_of(map.gamma().values(), [](double gamma) { return gamma != 1; });
}

pytorch::MultiHeadAttentionOptions attention_of(const Task& task, const ModelOptions& options) {
  pytorch::MultiHeadAttentionOptions out{.d_model = options.width, .num_heads = options.heads};
  out.scale = options.scale;
  out.learn_scale = options.learn_scale;
  out.map = options.map;
  out.learn_alpha = options.learn_alpha;
  out.head_features = options.features;
  // The querying token comes after the others, whether computed alone or with them.
  out.mask = decays(options.map) ? Mask::causal(Align::end) : Mask::none().aligned(Align::end);
  if (task.needs_positions) out.positions = pytorch::Positions::rotary;
  out.statistics = Statistics::of({Statistic::sparsity, Statistic::participation});
  if (options.map.is_distribution()) out.statistics = out.statistics.with(Statistic::entropy);
  return out;
}

}  // namespace

Model::Model(const Task& task, const ModelOptions& options, std::uint64_t seed) {
  embed_ = register_module("embed", torch::nn::Linear(task.features, options.width));
  for (std::int64_t i = 0; i < task.layers; ++i) {
    const std::string name = "layers" + std::to_string(i);
    layers_.push_back({register_module(name + "_self", AttentionBlock(attention_of(task, options))),
                       register_module(name + "_inner", FeedForwardBlock(options.width))});
  }
  last_norm_ = register_module("last_norm", layer_norm(options.width));
  out_ = register_module("out", torch::nn::Linear(options.width, task.classes));
  draw_parameters(*this, seed);
  if (!options.key_bias) leave_out_key_biases();
}

// They keep their initial value, 0.
void Model::leave_out_key_biases() {
  embed_->bias.requires_grad_(false);
  for (Layer& layer : layers_) {
    layer.attention->norm->bias.requires_grad_(false);
    layer.attention->attention->W_K->bias.requires_grad_(false);
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
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) x = layers_[i].inner(layers_[i].attention(x).output);
  return x;
}

Answer Model::forward(const at::Tensor& inputs) {
  Layer& layer = layers_.back();
  // Only the querying token is needed.
  auto [x, statistics, weights] = layer.attention->last_rows(before_last_layer(inputs), 1);
  return {out_(last_norm_(layer.inner(x).select(1, -1))), std::move(statistics)};
}

at::Tensor Model::weights(const at::Tensor& inputs, std::int64_t rows) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  return layers_.back().attention->last_rows(before_last_layer(inputs), rows, all).weights;
}

std::vector<double> Model::alphas() const {
  const pytorch::MultiHeadAttention& attention = layers_.back().attention->attention;
  if (!attention->options.learn_alpha) return {};
  const at::Tensor alpha = attention->alpha().detach().to(at::kCPU, at::kDouble);
  return {alpha.const_data_ptr<double>(), alpha.const_data_ptr<double>() + alpha.numel()};
}

}  // namespace isentropic::lab::retrieval
