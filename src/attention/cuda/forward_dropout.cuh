// Dropout in the forward pass on tensor cores: makes the choices of scores.cuh on packed weights.
#pragma once

#include "attention/cuda/problem.hpp"
#include "attention/cuda/products.cuh"
#include "base/counter_random.hpp"

namespace isentropic::cuda {

// A weight is kept if its 32 bits are at least this: (bits + 1/2) 2^-32 >= probability.
__device__ inline std::uint64_t least_kept(double probability) {
  const double x = probability * 0x1p32, whole = floor(x);
  return static_cast<std::uint64_t>(whole) + (x - whole > 0.5 ? 1 : 0);
}

// What a block's dropout is drawn with. Kept in shared memory and reread each time, because registers are scarce.
struct DropoutKey {
  std::uint64_t seed, least;

  __device__ static DropoutKey of(const Problem& p) {
    return p.dropout > 0 ? DropoutKey{*p.seed, least_kept(p.dropout)} : DropoutKey{0, 0};
  }
};

// The random bits of four keys, number `group` of row (b, h, i).
__device__ inline PhiloxCounter dropout_bits(std::uint64_t seed, int b, int h, int i, int group) {
  return philox({static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(i),
                 static_cast<std::uint32_t>(h) | static_cast<std::uint32_t>(RandomStream::dropout),
                 static_cast<std::uint32_t>(b)},
                seed);
}

__device__ inline bool is_kept(const volatile DropoutKey& key, int b, int h, int i, int j) {
  const PhiloxCounter bits = dropout_bits(key.seed, b, h, i, j / 4);
  const std::uint32_t low = j % 2 ? bits[1] : bits[0], high = j % 2 ? bits[3] : bits[2];
  return (j % 4 < 2 ? low : high) >= key.least;
}

// Zeros the dropped weights of a row; `j` is the first of the lane's keys, two of every eight.
template <int kTiles>
__device__ inline void drop_weights(const volatile DropoutKey& key, int b, int h, int i, int j, int half,
                                    std::uint32_t (&weights)[kTiles][2]) {
  const std::uint64_t seed = key.seed, least = key.least;
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    const PhiloxCounter bits = dropout_bits(seed, b, h, i, j / 4 + 2 * tile);
    const std::uint32_t x = j % 4 ? bits[2] : bits[0], y = j % 4 ? bits[3] : bits[1];
    weights[tile][half] &= (x >= least ? 0xffffu : 0u) | (y >= least ? 0xffff0000u : 0u);
  }
}

}  // namespace isentropic::cuda
