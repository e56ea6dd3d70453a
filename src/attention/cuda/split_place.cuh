// The sizes of a few-query block, its share of the work, and its rows.
#pragma once

#include <type_traits>

#include "attention/cuda/sm80.cuh"
#include "attention/cuda/split_launch.hpp"
#include "attention/cuda/split_tiles.cuh"

namespace isentropic::cuda {

template <ElementType type, int kD_>
struct SplitShape {
  using E = std::conditional_t<type == ElementType::bfloat16, __nv_bfloat16, __half>;
  static constexpr int kD = kD_;
  static constexpr int kWarps = 4, kThreads = 32 * kWarps;
  static constexpr int kKeys = 2048 / kD;  // per warp tile: 4 KB of keys, 4 KB of values
  static constexpr int kStages = 3;        // tiles of a warp in shared memory; two blocks then fit on a multiprocessor
  static constexpr int kTileBytes = kKeys * kD * 2, kStageBytes = 2 * kTileBytes, kWarpBytes = kStages * kStageBytes;
  static constexpr int kBytes = kWarps * kWarpBytes;
  static constexpr int kMergeRow = kD + 8;  // floats; the padding starts output rows at different banks
};

// The block's share of the work. Tiles of rows are consecutive blocks, so that they find their keys in the cache.
struct SplitPlace {
  __device__ SplitPlace(unsigned index, const Problem& p, unsigned parts) {
    const unsigned kv_heads = static_cast<unsigned>(p.kv_heads);
    group = static_cast<unsigned>(p.heads) / kv_heads, rows = group * static_cast<unsigned>(p.n_q);
    const unsigned tiles = (rows + kSplitRows - 1) / kSplitRows;
    first_row = index % tiles * kSplitRows, index /= tiles;
    part = index % parts, index /= parts;
    kv_head = index % kv_heads, b = index / kv_heads;
  }
  unsigned b, kv_head, part, group, first_row, rows;  // 32-bit: 64-bit division would delay the first copies
};

// A row of the tile; rows beyond the problem's last are computed but not written.
struct SplitRow {
  __device__ SplitRow(const Problem& p, const SplitPlace& place, int row) {
    const unsigned r = place.first_row + row, n_q = static_cast<unsigned>(p.n_q);
    there = r < place.rows;
    h = place.kv_head * place.group + (there ? r / n_q : 0);
    i = there ? r % n_q : 0;
    number = (place.b * p.heads + h) * p.n_q + i;
    keys = keys_of_row(p, place.b, i);
  }
  bool there;
  std::int64_t h, i, number;
  RowKeys keys;
};

}  // namespace isentropic::cuda
