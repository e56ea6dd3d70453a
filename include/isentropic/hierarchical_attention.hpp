// Two-level attention: inside blocks of keys, then over the blocks.
//
//   inside block b:   p(j | b) = softmax of the block's scores, output o_b, entropy H_b, log-partition L_b
//   over blocks:      P(b) = softmax_b(sigma_b),  o = sum_b P(b) o_b
//   chain rule:       H = H(block) + sum_b P(b) H_b
//
// sigma_b = L_b makes the two levels exactly equal to flat attention. sigma_b = lambda_b q.k_mean, with the mean of the
// keys of b that the row sees, is the usual approximation: blocks are chosen without looking inside.
// Segmented attention is a mask: Mask::segments(n).
#pragma once

#include <cstdint>

#include "isentropic/attention.hpp"

namespace isentropic {

enum class BlockScore : std::uint8_t { log_partition, mean_key };

struct HierarchicalProblem {
  AttentionProblem attention;  // softmax, no sink, no dropout, no shard; its statistics are ignored.
                               // mean_key: no bias and no soft cap either
  std::int64_t block = 64;     // keys per block; the last may be shorter
  BlockScore score = BlockScore::log_partition;
  Scale block_scale = Scale::inverse_sqrt_d();  // lambda_b for mean_key; n is the number of blocks the row sees
};

struct HierarchicalResult {
  Tensor output;                                     // [batch, heads, n_q, d_v]
  Tensor entropy;                                    // [batch, heads, n_q]: block_entropy + within_entropy
  Tensor block_entropy;                              // H(block)
  Tensor within_entropy;                             // sum_b P(b) H_b
  RowState rows;                                     // the scales used inside blocks: those of the whole row
  std::vector<SoftmaxRecord<double>> block_records;  // over the block scores, [batch, heads, n_q]
};

ISENTROPIC_API HierarchicalResult hierarchical_attention(const HierarchicalProblem& problem);

struct HierarchicalGradients {
  Tensor query, key, value;
};

// Gradients through the output, with scales held constant. `output` is the upstream gradient, [batch, heads, n_q, d_v].
ISENTROPIC_API HierarchicalGradients hierarchical_attention_backward(const HierarchicalProblem& problem,
                                                                     const HierarchicalResult& forward, View output);

}  // namespace isentropic
