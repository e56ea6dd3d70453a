// Attention over keys that lie in several places, on PyTorch's tensors: each computes its part, parts merge in any
// order, and the end makes output and statistics of them; the backward pass of a place gives its share of the
// gradients.
//
//   const AttentionOptions here = {.mask = Mask::causal(), .shard = {.key_runs = {{offset, n}}, .total_keys = total}};
//   PartialAttention part = attention_partial(q, k, v, here);
//   for (const PartialAttention& other : received) part = merge(part, other);
//   const AttentionOutput whole = finish(q, k, v, here, part);
//   const GradientShares shares = attention_backward(q, k, v, here, whole, output_gradient);
//
// Parts and shares are in the type of sums (on a GPU shares of gradients are rounded to that of the inputs). No
// gradients are recorded here: an autograd function around these calls has them.
#pragma once

#include "isentropic/pytorch/attention.hpp"

namespace isentropic::pytorch {

struct PartialAttention {
  at::Tensor output;            // [batch, heads, n_q, d_v]: sum_j e^{s_j - m} v_j
  at::Tensor rows, row_counts;  // records and scales
  at::Tensor groups;            // of key groups
};

ISENTROPIC_API PartialAttention attention_partial(const at::Tensor& query, const at::Tensor& key,
                                                  const at::Tensor& value, const AttentionOptions& options);
ISENTROPIC_API PartialAttention merge(const PartialAttention& x, const PartialAttention& y);
ISENTROPIC_API AttentionOutput finish(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                      const AttentionOptions& options, const PartialAttention& part);

// Of the inputs and of bias, sink [heads] and the parameters of the law [count, heads]; empty where there are none. The
// shares of all places add up, but for the sink's, which is the row's: every place finds all of it.
struct GradientShares {
  at::Tensor query, key, value, bias, sink, scale;
};

// `whole`: what finish() returned, or attention() where all keys are here.
ISENTROPIC_API GradientShares attention_backward(const at::Tensor& query, const at::Tensor& key,
                                                 const at::Tensor& value, const AttentionOptions& options,
                                                 const AttentionOutput& whole, const at::Tensor& output_gradient);

}  // namespace isentropic::pytorch
