// The two products of attention for the rows of one warp: scores of a block of keys, and weights times values.
//
// A warp holds kRowTiles tiles of 16 rows. Of a tile of 16 rows and 8 columns, a lane holds columns 2 (lane % 4) and 2
// (lane % 4) + 1 in rows lane / 4 (half 0) and lane / 4 + 8 (half 1).
#pragma once

#include "attention/cuda/tiles.cuh"

namespace isentropic::cuda {

template <int kRowTiles, int kTiles>
using Accumulators = float[kRowTiles][kTiles][4];

// scores = rows keys^T. `rows` and `keys` are addresses of blocks in shared memory; `first` is the warp's first row.
template <class E, int kWidth, int kRowTiles, int kTiles>
__device__ __forceinline__ void multiply_rows(std::uint32_t rows, int first, std::uint32_t keys,
                                              Accumulators<kRowTiles, kTiles>& scores) {
  constexpr int kSteps = kWidth / 16, kPairs = kTiles / 2;
  const int lane = threadIdx.x % 32;
  const std::uint32_t row = rows + chunk_offset<kWidth>(first + lane % 16, lane / 16);
  const std::uint32_t key = keys + chunk_offset<kWidth>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
  std::uint32_t left[2][kRowTiles][4];
  const auto load_left = [&](int step) {
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t)
      load_fragments(left[step % 2][t], pairs_on(row, step) + t * 16 * kRowBytes<kWidth>);
  };
#pragma unroll
  for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
      for (int e = 0; e < 4; ++e) scores[t][tile][e] = 0;
  load_left(0);
  with_fragments_ahead<kSteps * kPairs>(
      [&](std::uint32_t(&to)[4], int turn) {
        load_fragments(to, pairs_on(key, turn / kPairs) + turn % kPairs * 16 * kRowBytes<kWidth>);
      },
      [&](const std::uint32_t(&right)[4], int turn) {
        const int step = turn / kPairs, pair = turn % kPairs;
        if (pair == 0 && step + 1 < kSteps) load_left(step + 1);
#pragma unroll
        for (int t = 0; t < kRowTiles; ++t) {
          multiply_add<E>(scores[t][2 * pair], left[step % 2][t], right[0], right[1]);
          multiply_add<E>(scores[t][2 * pair + 1], left[step % 2][t], right[2], right[3]);
        }
      });
}

// 16-bit weights in the layout of `scores`, two per register: [row tile][tile][half].
template <int kRowTiles, int kTiles>
using PackedWeights = std::uint32_t[kRowTiles][kTiles][2];

// output += weights values, over `kTiles` * 8 keys.
template <class E, int kWidth, int kRowTiles, int kTiles>
__device__ __forceinline__ void add_values(const PackedWeights<kRowTiles, kTiles>& weights, std::uint32_t values,
                                           Accumulators<kRowTiles, kWidth / 8>& output) {
  constexpr int kPairs = kWidth / 16;
  const int lane = threadIdx.x % 32;
  const std::uint32_t value = values + chunk_offset<kWidth>(lane % 16, lane / 16);
  with_fragments_ahead<kTiles / 2 * kPairs>(
      [&](std::uint32_t(&to)[4], int turn) {
        load_fragments_transposed(to, pairs_on(value, turn % kPairs) + turn / kPairs * 16 * kRowBytes<kWidth>);
      },
      [&](const std::uint32_t(&right)[4], int turn) {
        const int step = turn / kPairs, pair = turn % kPairs;
#pragma unroll
        for (int t = 0; t < kRowTiles; ++t) {
          // Two score tiles, in the layout the product left them, form one left operand.
          const std::uint32_t left[4] = {weights[t][2 * step][0], weights[t][2 * step][1], weights[t][2 * step + 1][0],
                                         weights[t][2 * step + 1][1]};
          multiply_add<E>(output[t][2 * pair], left, right[0], right[1]);
          multiply_add<E>(output[t][2 * pair + 1], left, right[2], right[3]);
        }
      });
}

}  // namespace isentropic::cuda
