// Infinite and NaN values in a tile that some rows see and others do not: 0 times them is not 0. They are added to the
// rows that see them, and removed from the product.
#pragma once

#include <type_traits>

#include "attention/cuda/split_tiles.cuh"
#include "attention/cuda/tiles.cuh"

namespace isentropic::cuda {

// The exponent bits in both halves of a word.
template <class E>
__device__ inline std::uint32_t exponent_bits() {
  return std::is_same_v<E, __half> ? 0x7c007c00u : 0x7f807f80u;
}

// All ones in each half of the word that is infinite or NaN.
template <class E>
__device__ inline std::uint32_t infinite_halves(std::uint32_t word) {
  return __vcmpeq2(word & exponent_bits<E>(), exponent_bits<E>());
}

// Calls f(word) for all words of a tile, using a warp.
template <int kBytes, class F>
__device__ inline void for_each_word(unsigned char* tile, F f) {
  for (int at = threadIdx.x % 32 * 4; at < kBytes; at += 128) f(*reinterpret_cast<std::uint32_t*>(tile + at));
}

template <class E, int kBytes>
__device__ inline bool has_infinities(unsigned char* tile) {
  std::uint32_t found = 0;
  for_each_word<kBytes>(tile, [&](std::uint32_t word) { found |= infinite_halves<E>(word); });
  return __any_sync(0xffffffffu, found != 0);
}

template <class E, int kBytes>
__device__ inline void clear_infinities(unsigned char* tile) {
  __syncwarp();
  for_each_word<kBytes>(tile, [](std::uint32_t& word) { word &= ~infinite_halves<E>(word); });
  __syncwarp();
}

// Adds them to the output fragments of the lane's two rows.
template <class E, int kKeys, int kOutputTiles>
__device__ inline void add_infinities(const unsigned char* tile, const RowKeys& upper, const RowKeys& lower, int j0,
                                      float (&output)[kOutputTiles][4]) {
#pragma unroll 1
  for (int key = 0; key < kKeys; ++key) {
    const bool seen[2] = {holds(upper, j0 + key), holds(lower, j0 + key)};
#pragma unroll
    for (int t = 0; t < kOutputTiles; ++t) {
      const auto word =
          *reinterpret_cast<const std::uint32_t*>(tile + chunk_offset<kOutputTiles * 8>(key, t) + threadIdx.x % 4 * 4);
      const std::uint32_t odd = infinite_halves<E>(word);
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const auto bits = static_cast<std::uint16_t>(word >> (16 * e));
        if (!(odd >> (16 * e) & 0xffffu)) continue;
        const float x = static_cast<float>(reinterpret_cast<const E&>(bits));
        if (seen[0]) output[t][e] += x;
        if (seen[1]) output[t][2 + e] += x;
      }
    }
  }
}

}  // namespace isentropic::cuda
