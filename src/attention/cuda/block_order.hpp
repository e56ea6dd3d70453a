// The order in which thread blocks process rows: a few heads at a time, as many as keep their keys in the cache, and
// within these the last rows first: causal ones see the most keys, and long work should not come last.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

struct BlockPlace {
  int b, h, i0;
};

struct BlockOrder {
  unsigned rows, blocks, heads, all_heads, at_once;  // rows per block, blocks per head, heads (all: over the batch)

  BlockOrder(const Problem& p, int rows_of_block)
      : rows(static_cast<unsigned>(rows_of_block)),
        blocks(static_cast<unsigned>((p.n_q + rows_of_block - 1) / rows_of_block)),
        heads(static_cast<unsigned>(p.heads)),
        all_heads(static_cast<unsigned>(p.batch * p.heads)) {
    constexpr std::int64_t kCached = 16 << 20;  // bytes of keys and values that stay in the L2 cache of any GPU
    const std::int64_t fits = std::max<std::int64_t>(1, kCached / (p.n_k * (p.d + p.d_v) * 2 + 1));
    at_once = static_cast<unsigned>(std::min<std::int64_t>(p.heads / p.kv_heads * fits, all_heads));
  }

  unsigned grid() const { return blocks * all_heads; }

  ISENTROPIC_HOST_DEVICE BlockPlace place(unsigned block) const {
    const unsigned first = block / (blocks * at_once) * at_once, turn = block - first * blocks;
    const unsigned left = all_heads - first, team = at_once < left ? at_once : left, head = first + turn % team;
    return {static_cast<int>(head / heads), static_cast<int>(head % heads),
            static_cast<int>((blocks - 1 - turn / team) * rows)};
  }
};

}  // namespace isentropic::cuda
