// Attention over keys spread across several places, on PyTorch tensors: each place computes its part, parts merge in
// any order, and finish() turns them into output and statistics; each place's backward pass gives its share of the
// gradients.
//
//   const AttentionOptions here = {.mask = Mask::causal(), .shard = {.key_runs = {{offset, n}}, .total_keys = total}};
//   PartialAttention part = attention_partial(q, k, v, here);
//   for (const PartialAttention& other : received) part = merge(part, other);
//   const AttentionOutput whole = finish(q, k, v, here, part);
//   const GradientShares shares = attention_backward(q, k, v, here, whole, output_gradient);
//
// Parts and shares are in the accumulation type (on a GPU, gradient shares are rounded to the type of the inputs). No
// gradients are recorded here: wrap these calls in an autograd function.
#pragma once

#include "isentropic/pytorch/attention.hpp"

namespace isentropic::pytorch {

struct PartialAttention {
  at::Tensor output;            // [batch, heads, n_q, d_v]: sum_j e^{s_j - m} v_j
  at::Tensor rows, row_counts;  // records and scales
  at::Tensor groups;            // key-group records
};

ISENTROPIC_API PartialAttention attention_partial(const at::Tensor& query, const at::Tensor& key,
                                                  const at::Tensor& value, const AttentionOptions& options);
ISENTROPIC_API PartialAttention merge(const PartialAttention& x, const PartialAttention& y);
ISENTROPIC_API AttentionOutput finish(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                      const AttentionOptions& options, const PartialAttention& part);

// Gradients of the inputs, bias, sink [heads] and law parameters [count, heads]; empty where not applicable. The shares
// of all places add up, except for the sink's, which belongs to the row: every place computes it in full.
struct GradientShares {
  at::Tensor query, key, value, bias, sink, scale;
};

// `whole`: what finish() returned, or attention() if all keys are here.
ISENTROPIC_API GradientShares attention_backward(const at::Tensor& query, const at::Tensor& key,
                                                 const at::Tensor& value, const AttentionOptions& options,
                                                 const AttentionOutput& whole, const at::Tensor& output_gradient);

}  // namespace isentropic::pytorch
