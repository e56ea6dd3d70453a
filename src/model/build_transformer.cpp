// Takes a description's parameters from their source, in the order of the forward pass.
#include <cmath>

#include "isentropic/error.hpp"
#include "isentropic/pytorch/positions.hpp"
#include "model/attention_layer.hpp"
#include "model/transformer.hpp"

namespace isentropic::model {

Transformer::Transformer(Description description, ParameterSource& source) : description_(std::move(description)) {
  const Description& model = description_;
  tokens_ = take(source, "tokens.weight", {model.vocabulary, model.width});
  if (model.positions == Positions::learned)
    positions_ = take(source, "positions.weight", {model.trained_length + model.position_offset, model.width});
  if (model.token_types > 0) token_types_ = take(source, "token_types.weight", {model.token_types, model.width});
  if (model.embedding_norm) embedding_norm_ = take_norm(source, "embedding_norm", model.width);
  if (model.positions == Positions::alibi) alibi_slopes_ = pytorch::alibi_slopes(model.heads).to(tokens_.device());
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) blocks_.push_back(take_block(source, layer));
  if (model.final_norm) final_norm_ = take_norm(source, "final_norm", model.width);
  take_head(source);
}

at::Tensor Transformer::take(ParameterSource& source, const std::string& name, at::IntArrayRef shape) {
  at::Tensor out = source.parameter(name, shape);
  parameters_.insert(name, out);
  return out;
}

Transformer::Linear Transformer::take_linear(ParameterSource& source, const std::string& name, std::int64_t in,
                                             std::int64_t out, bool bias) {
  Linear linear{take(source, name + ".weight", {out, in}), {}};
  if (bias) linear.bias = take(source, name + ".bias", {out});
  return linear;
}

Transformer::NormWeights Transformer::take_norm(ParameterSource& source, const std::string& name, std::int64_t width) {
  NormWeights out{take(source, name + ".weight", {width}), {}};
  if (description_.norm.kind == NormKind::layer) out.bias = take(source, name + ".bias", {width});
  return out;
}

void Transformer::take_projections(ParameterSource& source, const std::string& prefix, Block& out) {
  const Description& model = description_;
  const std::int64_t of_queries = model.heads * model.head_width, of_keys = model.kv_heads * model.head_width;
  if (model.projections == Projections::separate) {
    out.query = take_linear(source, prefix + "query", model.width, of_queries, model.query_bias);
    out.key = take_linear(source, prefix + "key", model.width, of_keys, model.query_bias);
    out.value = take_linear(source, prefix + "value", model.width, of_keys, model.query_bias);
  } else {
    out.query_key_value =
        take_linear(source, prefix + "query_key_value", model.width, of_queries + 2 * of_keys, model.query_bias);
  }
  out.output = take_linear(source, prefix + "output", of_queries, model.width, model.output_bias);
  if (model.query_key_norm == QueryKeyNorm::none) return;
  const bool per_head = model.query_key_norm == QueryKeyNorm::per_head;
  out.query_norm = take_norm(source, prefix + "query_norm", per_head ? model.head_width : of_queries);
  out.key_norm = take_norm(source, prefix + "key_norm", per_head ? model.head_width : of_keys);
}

Transformer::Block Transformer::take_block(ParameterSource& source, std::size_t layer) {
  const Description& model = description_;
  const std::string prefix = "layers." + std::to_string(layer) + ".";
  const bool before = model.norm_place == NormPlace::before || model.norm_place == NormPlace::around;
  const bool after = model.norm_place != NormPlace::before;
  Block out;
  if (before) out.attention_norm = take_norm(source, prefix + "attention_norm", model.width);
  take_projections(source, prefix, out);
  out.scale = model::scale_values(model, layer);
  if (out.scale.defined()) out.scale = out.scale.to(tokens_.device());
  if (model.learn_scale) parameters_.insert(prefix + "scale", out.scale);
  if (model.sinks) out.sinks = take(source, prefix + "sinks.bias", {model.heads});
  if (model.positions == Positions::relative)
    out.relative_bias = take(source, prefix + "relative.bias", {model.heads, 2 * model.relative_distance + 1});
  if (after) out.attention_post_norm = take_norm(source, prefix + "attention_post_norm", model.width);
  if (before) out.mlp_norm = take_norm(source, prefix + "mlp_norm", model.width);
  if (model.gated) out.gate = take_linear(source, prefix + "gate", model.width, model.mlp_width, model.mlp_bias);
  out.up = take_linear(source, prefix + "up", model.width, model.mlp_width, model.mlp_bias);
  out.down = take_linear(source, prefix + "down", model.mlp_width, model.width, model.mlp_bias);
  if (after) out.mlp_post_norm = take_norm(source, prefix + "mlp_post_norm", model.width);
  return out;
}

std::vector<std::vector<double>> Transformer::scale_values() const {
  std::vector<std::vector<double>> out;
  for (const Block& block : blocks_) {
    if (!block.scale.defined()) return {};
    const at::Tensor values = block.scale.detach().to(at::kCPU, at::kDouble).contiguous();
    out.emplace_back(values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel());
  }
  return out;
}

// Trunk checkpoints have no head; those with tied embeddings may omit its matrix.
void Transformer::take_head(ParameterSource& source) {
  Description& model = description_;
  if (model.head == Head::none) return;
  const bool masked = model.head == Head::masked_lm;
  if (masked ? !source.has("head_dense.weight") : !model.tied && !source.has("head.weight")) {
    model.head = Head::none;
    return;
  }
  if (masked) {
    head_dense_ = take_linear(source, "head_dense", model.width, model.width, true);
    head_norm_ = take_norm(source, "head_norm", model.width);
  }
  head_.weight = model.tied ? tokens_ : take(source, "head.weight", {model.vocabulary, model.width});
  if (masked)
    head_.bias = take(source, source.has("head_bias.bias") ? "head_bias.bias" : "head.bias", {model.vocabulary});
}

}  // namespace isentropic::model
