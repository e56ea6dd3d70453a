// Scores of a chunk: scale, soft cap, bias, and the keys a row does not see.
#pragma once

#include <cmath>

#include "attention/cuda/instructions.cuh"
#include "attention/cuda/thread_block.cuh"
#include "losses/cuda/chunk.hpp"

namespace isentropic::cuda {

inline constexpr float kLog2E = 1.4426950408889634f;
inline constexpr int kLanes = 4;    // scores a thread reads in one load
inline constexpr int kVectors = 4;  // such loads in flight
inline constexpr int kMostThreads = 512;
inline constexpr std::int64_t kMostKeys = 1 << 30;  // key indices are ints

// e^x to 3 units in the last place, plus 1e-7 x from rounding the argument; 0 below 2^-126.
__device__ inline float exponential(float x) { return exp2_fast(x * kLog2E); }

// The parts of one score: s after scale, cap and bias, and ds/dx at x = lambda q.k.
struct Score {
  float s, slope;
};

// Extras: a soft cap, a bias or exclude_self. Without them a score is the product and nothing is hidden.
template <bool extras>
struct ScoreRule {
  __device__ explicit ScoreRule(const LossChunk& chunk)
      : lambda(*chunk.scale), cap(chunk.soft_cap), bias(chunk.bias ? chunk.bias + chunk.first_key : nullptr) {}

  __device__ Score of(float product, int key) const {
    Score out = {lambda * product, 1.0f};
    if constexpr (extras) {
      if (cap > 0) {
        const float t = tanhf(out.s / cap);
        out = {cap * t, 1 - t * t};
      }
      if (bias) out.s += bias[key];
    }
    return out;
  }
  __device__ bool hides(int key, int self) const {
    if constexpr (extras) return key == self || (bias && bias[key] == -INFINITY);
    return false;
  }

  float lambda, cap;
  const float* bias;
};

// The index within the chunk of a key numbered in the whole problem; -1 if it is not in the chunk.
__device__ inline int key_of_chunk(const LossChunk& chunk, std::int64_t place) {
  const std::int64_t key = place - chunk.first_key;
  return place >= 0 && place < chunk.all_keys && key >= 0 && key < chunk.keys ? static_cast<int>(key) : -1;
}

__device__ inline int self_of_row(const LossChunk& chunk, int row) {
  return chunk.exclude_self ? key_of_chunk(chunk, chunk.first_row + row) : -1;
}

inline bool has_extras(const LossChunk& chunk) { return chunk.soft_cap > 0 || chunk.bias || chunk.exclude_self; }

// Threads per row: not many more than there are scores.
inline int threads_of_row(std::int64_t keys) {
  int threads = kMostThreads;
  while (threads > 64 && std::int64_t{threads} * kLanes * kVectors > 2 * keys) threads /= 2;
  return threads;
}

// Calls group(begin, step, loaded) for a thread's share of the products of a row: loaded[v] holds those of the keys
// from begin + v step on, with zeros past the last key.
template <class Group>
__device__ inline void for_each_group(const float* __restrict__ products, int keys, Group group) {
  const int step = blockDim.x * kLanes;
  for (int begin = threadIdx.x * kLanes; begin < keys; begin += step * kVectors) {
    float4 loaded[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
      loaded[v] =
          begin + v * step < keys ? *reinterpret_cast<const float4*>(products + begin + v * step) : float4{0, 0, 0, 0};
    group(begin, step, loaded);
  }
}

// Sums over the threads of a block, in a fixed order; thread 0 gets them. `shared` holds one number per warp.
template <int count>
__device__ inline void sum_over_block(float (&values)[count], float (*shared)[count]) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
#pragma unroll
  for (int c = 0; c < count; ++c)
    for (int step = 16; step > 0; step /= 2) values[c] += __shfl_down_sync(~0u, values[c], step);
  if (lane == 0)
#pragma unroll
    for (int c = 0; c < count; ++c) shared[warp][c] = values[c];
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int w = 1; w < warps; ++w)
#pragma unroll
    for (int c = 0; c < count; ++c) values[c] += shared[w][c];
}

}  // namespace isentropic::cuda
