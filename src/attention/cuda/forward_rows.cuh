// The rows of a thread block of the forward pass, the key blocks they see, and the scores each lane holds.
#pragma once

#include "attention/cuda/block_order.hpp"
#include "attention/cuda/products.cuh"
#include "attention/cuda/visible_keys.cuh"

namespace isentropic::cuda {

template <ElementType type>
struct Element {
  using T = __nv_bfloat16;
};
template <>
struct Element<ElementType::float16> {
  using T = __half;
};

// The rows of a thread block and the key blocks they see. Kept in shared memory, because registers are scarce.
template <class Shape>
struct ForwardBlock {
  int b, h, kv_head, i0;
  int seen_by_all_begin, seen_by_all_end;  // keys of the band that every row sees
  int prefix, prefix_blocks, band_block, end_block;
  int end;                // end of the keys that any row sees
  std::uint32_t queries;  // their address in shared memory

  __device__ ForwardBlock(const Problem& p, const BlockPlace& place, std::uint32_t shared)
      : b(place.b),
        h(place.h),
        kv_head(place.h / static_cast<int>(p.heads / p.kv_heads)),
        i0(place.i0),
        queries(shared) {
    const RowSpans first = spans_of(p, b, i0), last = spans_of(p, b, i0 + Shape::kRows - 1);
    prefix = first.prefix_end > first.prefix_begin ? first.prefix_end : 0;
    seen_by_all_begin = last.begin, seen_by_all_end = first.end;
    band_block = first.begin / Shape::kKeys;
    prefix_blocks = (prefix + Shape::kKeys - 1) / Shape::kKeys;
    end = max(prefix, last.end);
    end_block = (end + Shape::kKeys - 1) / Shape::kKeys;
  }

  __device__ int row_of(int t, int half) const {
    return i0 + threadIdx.x / 32 * (16 * Shape::kRowTiles) + t * 16 + half * 8 + threadIdx.x % 32 / 4;
  }
  // Only blocks of the prefix and of the band are visited.
  __device__ int skip_gap(int block) const { return block >= prefix_blocks ? max(block, band_block) : block; }
  __device__ bool is_whole(int j0) const {
    return j0 + Shape::kKeys <= seen_by_all_end && (j0 >= seen_by_all_begin || j0 + Shape::kKeys <= prefix);
  }
};

template <class Shape>
using Scores = Accumulators<Shape::kRowTiles, Shape::kScoreTiles>;

// Calls f(score, key) for this lane's scores of a row, with keys numbered from first_key_of_lane, so that comparing a
// key takes a constant rather than a register.
template <class Shape, class F>
__device__ __forceinline__ void for_each_score(Scores<Shape>& scores, int t, int half, F f) {
#pragma unroll
  for (int tile = 0; tile < Shape::kScoreTiles; ++tile)
#pragma unroll
    for (int e = 0; e < 2; ++e) f(scores[t][tile][2 * half + e], tile * 8 + e);
}

__device__ inline int first_key_of_lane(int j0) { return j0 + static_cast<int>(threadIdx.x) % 4 * 2; }

}  // namespace isentropic::cuda
