// Infinite and NaN values that some rows of a block see and others do not: 0 times them is not 0. They are added to the
// rows that see them, and removed from the product.
#pragma once

#include "attention/cuda/products.cuh"
#include "attention/cuda/split_values.cuh"

namespace isentropic::cuda {

// Calls f(four words) for the whole tile, using all threads of a block.
template <int kBytes, int kThreads, class F>
__device__ inline void for_each_chunk(unsigned char* tile, F f) {
#pragma unroll 1
  for (int at = static_cast<int>(threadIdx.x) * 16; at < kBytes; at += kThreads * 16)
    f(*reinterpret_cast<uint4*>(tile + at));
}

template <class E>
__device__ inline uint4 infinite_halves(const uint4& words) {
  return {infinite_halves<E>(words.x), infinite_halves<E>(words.y), infinite_halves<E>(words.z),
          infinite_halves<E>(words.w)};
}

// Whether any value is infinite or NaN; the same for all threads of the block.
template <class E, int kBytes, int kThreads>
__device__ inline bool block_has_infinities(unsigned char* tile) {
  std::uint32_t found = 0;
  for_each_chunk<kBytes, kThreads>(tile, [&](const uint4& words) {
    const uint4 odd = infinite_halves<E>(words);
    found |= odd.x | odd.y | odd.z | odd.w;
  });
  return __syncthreads_or(found != 0);
}

// Replaces them by zeros, after a barrier.
template <class E, int kBytes, int kThreads>
__device__ inline void clear_infinities_of_block(unsigned char* tile) {
  __syncthreads();
  for_each_chunk<kBytes, kThreads>(tile, [](uint4& words) {
    const uint4 odd = infinite_halves<E>(words);
    words = {words.x & ~odd.x, words.y & ~odd.y, words.z & ~odd.z, words.w & ~odd.w};
  });
  __syncthreads();
}

// Adds the infinite and NaN values of the keys for which seen(key) holds to the fragments of one row of the lane. Keys
// are numbered from the tile's first.
template <class E, int kKeys, int kOutputTiles, class Seen>
__device__ inline void add_infinities_of_row(const unsigned char* tile, Seen seen, int half,
                                             float (&output)[kOutputTiles][4]) {
#pragma unroll 1
  for (int key = 0; key < kKeys; ++key) {
    if (!seen(key)) continue;
#pragma unroll
    for (int t = 0; t < kOutputTiles; ++t) {
      const auto word =
          *reinterpret_cast<const std::uint32_t*>(tile + chunk_offset<kOutputTiles * 8>(key, t) + threadIdx.x % 4 * 4);
      const std::uint32_t odd = infinite_halves<E>(word);
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const auto bits = static_cast<std::uint16_t>(word >> (16 * e));
        if (odd >> (16 * e) & 0xffffu) output[t][2 * half + e] += static_cast<float>(reinterpret_cast<const E&>(bits));
      }
    }
  }
}

}  // namespace isentropic::cuda
