// The forward pass: embedding, layers, head.
#include "model/transformer.hpp"

#include <ATen/autocast_mode.h>

#include <cmath>

#include "isentropic/error.hpp"
#include "isentropic/pytorch/losses.hpp"
#include "isentropic/pytorch/positions.hpp"
#include "model/attention_layer.hpp"
#include "model/rotary.hpp"

namespace isentropic::model {

at::Tensor Transformer::Linear::operator()(const at::Tensor& x) const {
  return at::linear(x, weight, bias.defined() ? std::optional(bias) : std::nullopt);
}

// Norms compute in float32, as the families do, and return the type of x.
at::Tensor Transformer::normed(const at::Tensor& x, const NormWeights& norm) const {
  const Norm& kind = description_.norm;
  if (kind.kind == NormKind::layer) return at::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias, kind.epsilon);
  const at::Tensor wide = x.to(at::promote_types(x.scalar_type(), at::kFloat));
  const auto times = [&](const std::optional<at::Tensor>& weight) {
    return at::rms_norm(wide, {x.size(-1)}, weight, kind.epsilon).to(x.scalar_type());
  };
  if (kind.one_plus_weight) return times(1 + norm.weight.to(wide.scalar_type()));
  const bool is_wide = x.scalar_type() == wide.scalar_type() && norm.weight.scalar_type() == wide.scalar_type();
  return is_wide ? times(norm.weight) : norm.weight * times(std::nullopt);  // the weights multiply the rounded values
}

namespace {

// Under autocast each product would cast its own input: those that read the same x share one cast copy.
at::Tensor rounded_for_products(const at::Tensor& x) {
  const at::DeviceType device = x.device().type();
  if (!at::autocast::is_autocast_enabled(device)) return x;
  return at::autocast::cached_cast(at::autocast::get_autocast_dtype(device), x, device);
}

// [n, width]: sines of the even features, cosines of the odd ones.
at::Tensor sinusoids(const at::Tensor& positions, std::int64_t width) {
  const at::Tensor even = at::arange(0, width, 2, positions.options().dtype(at::kFloat));
  const at::Tensor frequencies = at::exp(even * (-std::log(10000.0) / static_cast<double>(width)));
  return pytorch::sinusoids(positions, frequencies, width, pytorch::SinusoidOrder::alternating);
}

at::Tensor activate(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return at::gelu(x);
    case Activation::gelu_tanh:
      return at::gelu(x, "tanh");
    case Activation::relu:
      return at::relu(x);
    case Activation::silu:
      return at::silu(x);
  }
  return x;
}

}  // namespace

struct Transformer::Surroundings {
  const ForwardOptions& options;
  std::vector<pytorch::Rotation> rotations;
  ForwardOutput out;
};

at::Tensor Transformer::embed(const at::Tensor& ids, const at::Tensor& positions) const {
  at::Tensor x = at::embedding(tokens_, ids);
  // The scale is rounded to the type of x first, as in the families that scale.
  if (description_.embedding_scale != 1) x = x * at::scalar_tensor(description_.embedding_scale, x.options());
  if (positions_.defined()) x = x + at::embedding(positions_, positions + description_.position_offset);
  if (description_.positions == Positions::sinusoidal)
    x = x + sinusoids(positions, description_.width).to(x.scalar_type());
  if (token_types_.defined()) x = x + token_types_.select(0, 0);
  return description_.embedding_norm ? normed(x, embedding_norm_) : x;
}

at::Tensor Transformer::attend(const at::Tensor& input, std::size_t layer, Surroundings& around) const {
  const at::Tensor x = rounded_for_products(input);
  const Description& model = description_;
  const Block& block = blocks_[layer];
  const std::int64_t batch = x.size(0), n = x.size(1), d = model.head_width;
  at::Tensor query, key, value;
  if (model.projections == Projections::separate) {
    query = block.query(x), key = block.key(x), value = block.value(x);
    if (model.query_key_norm == QueryKeyNorm::full_width)
      query = normed(query, block.query_norm), key = normed(key, block.key_norm);
    query = query.view({batch, n, model.heads, d}), key = key.view({batch, n, model.kv_heads, d});
    value = value.view({batch, n, model.kv_heads, d});
  } else {
    const bool by_head = model.projections == Projections::fused_by_head;
    const at::Tensor all = block.query_key_value(x);
    const at::Tensor parts =
        by_head ? all.view({batch, n, model.heads, 3, d}).transpose(2, 3) : all.view({batch, n, 3, model.heads, d});
    query = parts.select(2, 0), key = parts.select(2, 1), value = parts.select(2, 2);
  }
  if (model.query_key_norm == QueryKeyNorm::per_head)
    query = normed(query, block.query_norm), key = normed(key, block.key_norm);
  query = query.transpose(1, 2), key = key.transpose(1, 2), value = value.transpose(1, 2);
  if (const auto index = model.layers[layer].rotary) {
    query = pytorch::rotate(query, around.rotations[*index]);
    key = pytorch::rotate(key, around.rotations[*index]);
  }
  if (around.options.cache) {
    const Cache::KeysAndValues all = around.options.cache->append(layer, key, value);
    key = all.keys, value = all.values;
  }
  const LayerAttention call{description_,        layer,         block.scale,   block.sinks,
                            block.relative_bias, alibi_slopes_, around.options};
  pytorch::AttentionOutput found = call(query, key, value);
  around.out.statistics.push_back(std::move(found.statistics));
  return block.output(found.output.transpose(1, 2).reshape({batch, n, model.heads * d}));
}

at::Tensor Transformer::mlp(const at::Tensor& input, const Block& block) const {
  const at::Tensor x = rounded_for_products(input);
  if (!at::GradMode::is_enabled() && x.size(1) > kMlpRowsAtOnce) {
    at::Tensor out = at::empty_like(x);
    for (std::int64_t i = 0; i < x.size(1); i += kMlpRowsAtOnce) {
      const std::int64_t rows = std::min(kMlpRowsAtOnce, x.size(1) - i);
      out.narrow(1, i, rows).copy_(mlp(x.narrow(1, i, rows), block));
    }
    return out;
  }
  const at::Tensor up = block.up(x);
  if (!description_.gated) return block.down(activate(up, description_.activation));
  return block.down(activate(block.gate(x), description_.activation) * up);
}

at::Tensor Transformer::run_block(at::Tensor x, std::size_t layer, Surroundings& around) const {
  const Block& block = blocks_[layer];
  const NormPlace place = description_.norm_place;
  const auto sublayer = [&](const at::Tensor& in, const NormWeights& before, const NormWeights& after, auto&& run) {
    at::Tensor out = run(before.weight.defined() ? normed(in, before) : in);
    if (place == NormPlace::around || place == NormPlace::after_sublayer) out = normed(out, after);
    return description_.residual_scale == 1 ? out : out * description_.residual_scale;
  };
  const auto attention = [&](const at::Tensor& in) { return attend(in, layer, around); };
  const auto feed_forward = [&](const at::Tensor& in) { return mlp(in, block); };
  if (description_.parallel_residual)
    return x + sublayer(x, block.attention_norm, {}, attention) + sublayer(x, block.mlp_norm, {}, feed_forward);
  x = x + sublayer(x, block.attention_norm, block.attention_post_norm, attention);
  if (place == NormPlace::after_residual) x = normed(x, block.attention_post_norm);
  x = x + sublayer(x, block.mlp_norm, block.mlp_post_norm, feed_forward);
  return place == NormPlace::after_residual ? normed(x, block.mlp_post_norm) : x;
}

ForwardOutput Transformer::forward(const at::Tensor& ids, const ForwardOptions& options) const {
  const std::int64_t past = options.cache ? options.cache->length() : 0, n = ids.size(1);
  if (positions_.defined() && past + n + description_.position_offset > positions_.size(0))
    throw Error("length", std::to_string(past + n),
                "at most " + std::to_string(positions_.size(0) - description_.position_offset) +
                    ", the learned positions of this model");
  const at::Tensor positions = at::arange(past, past + n, ids.options());
  at::Tensor x = embed(ids, positions);
  Surroundings around{options, {}, {}};
  for (const Rotary& rotary : description_.rotary)
    around.rotations.push_back(rotation(rotary, positions, x.scalar_type()));
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    if (options.observer) options.observer->enters(layer, x);
    x = run_block(x, layer, around);
  }
  if (options.cache) options.cache->advance(n);
  around.out.hidden = description_.final_norm ? normed(x, final_norm_) : x;
  return std::move(around.out);
}

// ---- Head ----

at::Tensor Transformer::before_head(const at::Tensor& hidden) const {
  if (description_.head == Head::none) throw Error("head", "absent from this checkpoint", "one, to predict tokens");
  if (description_.head == Head::linear) return hidden;
  return normed(activate(head_dense_(hidden), description_.activation), head_norm_);
}

at::Tensor Transformer::logits(const at::Tensor& hidden) const {
  at::Tensor out = head_(before_head(hidden));
  if (description_.logits_scale != 1) out = out * description_.logits_scale;
  if (description_.logits_cap) out = at::tanh(out / *description_.logits_cap) * *description_.logits_cap;
  return out;
}

at::Tensor Transformer::token_losses(const at::Tensor& hidden, const at::Tensor& targets) const {
  return pytorch::linear_cross_entropy(before_head(hidden), head_.weight, targets,
                                       {.bias = head_.bias,
                                        .scale = description_.logits_scale,
                                        .soft_cap = description_.logits_cap,
                                        .reduction = pytorch::Reduction::none})
      .loss;
}

at::Tensor Transformer::target_margins(const at::Tensor& hidden, const at::Tensor& targets) const {
  if (description_.logits_cap) throw Error("label smoothing", "of logits with a soft cap", "a model without one");
  const at::Tensor classes = targets.clamp_min(0);  // the mean of products is a product with the mean
  const at::Tensor rows = at::embedding(head_.weight, classes) - head_.weight.mean(0);
  at::Tensor out = description_.logits_scale * (before_head(hidden) * rows).sum(-1);
  if (head_.bias.defined())
    out = out + head_.bias.index_select(0, classes.flatten()).view_as(classes) - head_.bias.mean();
  return out * (targets >= 0);
}

}  // namespace isentropic::model
