// Which rows a thread block takes.
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

struct BlockPlace {
  int b, h, i0;
};

// A few heads at a time, as many as keep their keys in the cache; of these the last rows first: causal ones see the
// most keys, and long work should not come last.
__device__ inline BlockPlace place_of_block(const Problem& p, int rows, int width) {
  constexpr std::int64_t kCached = 16 << 20;  // bytes of keys and values that stay in the L2 cache of any GPU
  const std::int64_t blocks = (p.n_q + rows - 1) / rows, group = p.heads / p.kv_heads;
  const std::int64_t at_once = group * max(std::int64_t{1}, kCached / (p.n_k * width * 4 + 1));
  const std::int64_t first = blockIdx.x / (blocks * at_once) * at_once, turn = blockIdx.x - first * blocks;
  const std::int64_t team = min(at_once, p.batch * p.heads - first), head = first + turn % team;
  return {static_cast<int>(head / p.heads), static_cast<int>(head % p.heads),
          static_cast<int>((blocks - 1 - turn / team) * rows)};
}

}  // namespace isentropic::cuda
