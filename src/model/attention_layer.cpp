// Builds the attention call of a layer.
#include "model/attention_layer.hpp"

#include <algorithm>
#include <cmath>

#include "isentropic/error.hpp"

namespace isentropic::model {
namespace {

Scale scale_of_layer(const Description& model, std::size_t layer) {
  if (!model.scale_by_inverse_layer) return model.scale;
  const double plain =
      model.scale.name() == "inverse_sqrt_d" ? 1 / std::sqrt(static_cast<double>(model.head_width)) : 1;
  return Scale::constant(plain / static_cast<double>(layer + 1));
}

}  // namespace

at::Tensor scale_values(const Description& model, std::size_t layer) {
  if (!model.scale_values.empty()) return at::tensor(model.scale_values[layer], at::kFloat);
  if (!model.learn_scale) return {};
  if (model.scale.learnable() == 0)
    throw Error("scale", model.scale.name(), "one with a learnable parameter, or learn_scale switched off");
  return pytorch::learnable_parameters(model.scale, model.heads).front().second;
}

pytorch::AttentionOptions LayerAttention::call_options() const {
  pytorch::AttentionOptions out;
  if (model.causal) out.mask = Mask::causal(Align::end);
  if (const auto window = model.layers[layer].window)
    out.mask = model.causal ? out.mask.window(*window) : out.mask.window(*window, *window - 1);
  out.scale = scale_of_layer(model, layer);
  if (scale.defined()) out.scale_parameters = {{out.scale.law().parameters.front().name, scale}};
  out.map = model.map;
  out.soft_cap = model.score_cap;
  out.sink = sinks;
  out.relative_bias = relative_bias;
  out.alibi_slopes = alibi_slopes;
  out.dropout = options.attention_dropout;
  out.statistics = options.statistics;
  // The gradient through the equation H = target needs it.
  if (out.scale.is_target_entropy() && out.scale.gradient() == TargetEntropyGradient::implicit)
    out.statistics = out.statistics.with(Statistic::score_variance);
  return out;
}

// Number of keys that row i sees.
std::int64_t LayerAttention::visible(std::int64_t i, std::int64_t n) const {
  const std::int64_t window = model.layers[layer].window.value_or(n);
  if (model.causal) return std::min(i + 1, window);
  return std::min(n, i + window) - std::max<std::int64_t>(0, i - window + 1);
}

// [n, n]: whether row i sees key j.
at::Tensor LayerAttention::window_mask(std::int64_t n) const {
  const std::int64_t window = *model.layers[layer].window;
  const at::Tensor all = at::ones({n, n}, at::kBool);
  return all.tril(model.causal ? 0 : window - 1).triu(1 - window);
}

// [heads, n, 1]: lambda of each row.
at::Tensor LayerAttention::row_scales(std::int64_t n) const {
  const Scale law = scale_of_layer(model, layer);
  at::Tensor out = at::empty({model.heads, n, 1}, at::kFloat);
  auto* values = out.mutable_data_ptr<float>();
  for (std::int64_t head = 0; head < model.heads; ++head)
    for (std::int64_t i = 0; i < n; ++i)
      *values++ = static_cast<float>(
          law.lambda({.visible = visible(i, n), .d = model.head_width, .position = i, .head = head}));
  return out;
}

at::Tensor LayerAttention::torch_attention(const at::Tensor& query, const at::Tensor& key,
                                           const at::Tensor& value) const {
  const bool plain = model.map.name() == "softmax" && !model.score_cap && !sinks.defined() &&
                     !relative_bias.defined() && !alibi_slopes.defined() && !scale.defined() &&
                     !model.scale.is_target_entropy() && options.cache == nullptr;
  if (!plain)
    throw Error("torch attention", "asked for a model with terms, another map or a learned scale",
                "this project's attention for it");
  const std::int64_t n = query.size(2);
  const at::Tensor rows = row_scales(n).to(query.options());
  std::optional<at::Tensor> mask;
  if (model.layers[layer].window) mask = window_mask(n).to(query.device());
  return at::scaled_dot_product_attention(query * rows, key, value, mask, options.attention_dropout,
                                          model.causal && !mask, 1.0, model.heads != model.kv_heads);
}

pytorch::AttentionOutput LayerAttention::operator()(const at::Tensor& query, const at::Tensor& key,
                                                    const at::Tensor& value) const {
  if (options.torch_attention) return {torch_attention(query, key, value), {}, {}, {}, {}};
  const pytorch::AttentionOptions call = call_options();
  pytorch::AttentionOutput out = options.attention ? options.attention(layer, query, key, value, call)
                                                   : pytorch::attention(query, key, value, call);
  if (options.observer) {
    options.observer->attended({layer, query, key, call, out});
    out.statistics.clear();
  }
  return out;
}

}  // namespace isentropic::model
