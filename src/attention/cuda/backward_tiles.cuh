// Shared by the backward kernels: products of tiles, and G in fragment order.
#pragma once

#include <type_traits>

#include "attention/cuda/launch_backward.hpp"
#include "attention/cuda/tiles.cuh"

namespace isentropic::cuda {

// The part of each product that a warp holds. Scores and G: 32 queries, and a share of the keys or of the width.
// Gradients of keys and values: a quarter of the keys, half of the width. Tiles are 16 x 8. If the width exceeds 128,
// it need not be a power of two, and a warp takes its share of every 64 columns.
template <int kQueries, int kWidth>
struct QueryTiles {
  static constexpr int kRowWarps = kQueries / 32, kColumnWarps = kBackwardWarps / kRowWarps;
  static constexpr int kColumnTiles = kWidth / kColumnWarps / 8;
  __device__ static int warp() { return threadIdx.x / 32; }
  __device__ static int lane() { return threadIdx.x % 32; }
  __device__ static int first_row() { return warp() / kColumnWarps * 32; }
  __device__ static int first_column() { return warp() % kColumnWarps * (kWidth / kColumnWarps); }
  __device__ static int row(int t, int half) { return first_row() + t * 16 + half * 8 + lane() / 4; }
  __device__ static int column(int tile) {
    if constexpr (kWidth > 128) return tile / 2 * 64 + warp() % kColumnWarps * 16 + tile % 2 * 8 + lane() % 4 * 2;
    return first_column() + tile * 8 + lane() % 4 * 2;
  }
};

// Given the address of chunk 0 or 1 of a row of kWidth numbers, the address `step` pairs of chunks further on.
template <int kWidth>
__device__ inline std::uint32_t chunks_on(std::uint32_t address, int step) {
  if constexpr (kWidth > 128) return pairs_on(address, step);
  return address ^ (step * 32);
}

// A tile of G, laid out so that a warp's additions hit adjacent addresses: each lane's four numbers of a fragment where
// one instruction adds four, otherwise all lanes' first numbers, then all second ones, and so on.
template <int kQueries, int kD>
class ProductTile {
 public:
  using Tiles = QueryTiles<kQueries, kD>;
  static constexpr int kNumbers = kQueries * kD;

  __device__ explicit ProductTile(float* tile)
      : own(tile + Tiles::warp() * (2 * Tiles::kColumnTiles * 128) + Tiles::lane() * kStep) {}

  __device__ void add(int t, int tile, const float (&x)[4]) const {
    float* to = own + (t * Tiles::kColumnTiles + tile) * 128;
    if constexpr (kAddsFour) {
      add_four(to, x);
    } else {
#pragma unroll
      for (int e = 0; e < 4; ++e) atomicAdd(to + e * kStride, x[e]);
    }
  }

  __device__ float read(int t, int tile, int e) const {
    return own[(t * Tiles::kColumnTiles + tile) * 128 + e * kStride];
  }

 private:
  static constexpr int kStep = kAddsFour ? 4 : 1, kStride = kAddsFour ? 1 : 32;
  float* own;
};

// sums += left right, in kSteps steps of 16; load_left(to, step, t) and load_right(to, step, pair of tiles) load
// fragments.
template <class E, int kSteps, int kRowTiles, int kColumnTiles, class Left, class Right>
__device__ inline void multiply_tiles(float (&sums)[kRowTiles][kColumnTiles][4], Left load_left, Right load_right) {
  constexpr int kPairs = kColumnTiles / 2;
  std::uint32_t left[2][kRowTiles][4];
  const auto load_left_of = [&](int step) {
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t) load_left(left[step % 2][t], step, t);
  };
  const auto use_pair = [&](const std::uint32_t(&right)[4], int step, int pair) {
    if (pair == 0 && step + 1 < kSteps) load_left_of(step + 1);
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t) {
      multiply_add<E>(sums[t][2 * pair], left[step % 2][t], right[0], right[1]);
      multiply_add<E>(sums[t][2 * pair + 1], left[step % 2][t], right[2], right[3]);
    }
  };
  load_left_of(0);
  if constexpr (kPairs % 3 != 0) {
    with_fragments_ahead<kSteps * kPairs>(
        [&](std::uint32_t(&to)[4], int turn) { load_right(to, turn / kPairs, turn % kPairs); },
        [&](const std::uint32_t(&right)[4], int turn) { use_pair(right, turn / kPairs, turn % kPairs); });
  } else {
    // Here turn / kPairs is not a shift, and the compiler cannot unroll a single loop over all turns.
    std::uint32_t ring[2][4];
    load_right(ring[0], 0, 0);
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
#pragma unroll
      for (int pair = 0; pair < kPairs; ++pair) {
        const int turn = step * kPairs + pair;
        const bool last = pair + 1 == kPairs;
        if (!last || step + 1 < kSteps) load_right(ring[(turn + 1) % 2], last ? step + 1 : step, last ? 0 : pair + 1);
        use_pair(ring[turn % 2], step, pair);
      }
  }
}

template <int kRowTiles, int kColumnTiles>
__device__ inline void clear(float (&sums)[kRowTiles][kColumnTiles][4]) {
#pragma unroll
  for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
    for (int tile = 0; tile < kColumnTiles; ++tile)
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[t][tile][e] = 0;
}

// The products of two packed pairs.
template <class E>
__device__ inline std::uint32_t multiply_pair(std::uint32_t x, std::uint32_t y) {
  using Pair = std::conditional_t<std::is_same_v<E, __half>, __half2, __nv_bfloat162>;
  const Pair product = __hmul2(reinterpret_cast<const Pair&>(x), reinterpret_cast<const Pair&>(y));
  return reinterpret_cast<const std::uint32_t&>(product);
}

}  // namespace isentropic::cuda
