// Two-level attention: within blocks of keys, then over the blocks.
#pragma once

#include "reference/problem.hpp"

namespace reference {

enum class BlockScore { log_partition, mean_key };

struct Hierarchical {
  Problem attention;
  Index block = 1;
  BlockScore score = BlockScore::log_partition;
  Scale block_scale;  // of mean_key; n is the number of blocks the row sees
};

struct HierarchicalForward {
  Numbers output;                                  // [batch, heads, n_q, d_v]
  Numbers entropy, block_entropy, within_entropy;  // [batch, heads, n_q]
};

HierarchicalForward hierarchical(const Hierarchical& problem);

}  // namespace reference
