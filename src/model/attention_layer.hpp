// The attention call of one layer: mask, scale, terms and statistics from the description.
#pragma once

#include <ATen/ATen.h>

#include "isentropic/pytorch/attention.hpp"
#include "model/description.hpp"
#include "model/transformer.hpp"

namespace isentropic::model {

struct LayerAttention {
  const Description& model;
  std::size_t layer;
  const at::Tensor &scale, &sinks, &relative_bias, &alibi_slopes;  // undefined: none
  const ForwardOptions& options;

  // query [batch, heads, n, d], key and value [batch, kv_heads, past + n, d].
  pytorch::AttentionOutput operator()(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) const;

 private:
  pytorch::AttentionOptions call_options() const;
  std::int64_t visible(std::int64_t i, std::int64_t n) const;
  at::Tensor window_mask(std::int64_t n) const;
  at::Tensor row_scales(std::int64_t n) const;
  at::Tensor torch_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) const;
};

// [heads]: the law's learnable parameter in a layer; undefined where all layers use the law's own values.
at::Tensor scale_values(const Description& model, std::size_t layer);

}  // namespace isentropic::model
