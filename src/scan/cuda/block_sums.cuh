// Sums and maxima over the threads of a block, the same in every thread.
#pragma once

#include <cstdint>

namespace isentropic::scan::cuda {

constexpr int kWarp = 32, kBlockThreads = 256, kBlockWarps = kBlockThreads / kWarp;

union BlockScratch {
  double numbers[kBlockWarps];
  std::uint64_t ranks[kBlockWarps];
};

__device__ inline double sum_of_warp(double x) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) x += __shfl_xor_sync(0xffffffffu, x, lanes);
  return x;
}

__device__ inline std::uint64_t highest_of_warp(std::uint64_t x) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    const std::uint64_t other =
        __shfl_xor_sync(0xffffffffu, static_cast<unsigned long long>(x), lanes);  // a type it is overloaded for
    if (other > x) x = other;
  }
  return x;
}

__device__ inline double sum_of_block(double x, BlockScratch& scratch) {
  x = sum_of_warp(x);
  __syncthreads();  // all threads have read the previous values
  if (threadIdx.x % kWarp == 0) scratch.numbers[threadIdx.x / kWarp] = x;
  __syncthreads();
  double out = 0;
  for (const double part : scratch.numbers) out += part;
  return out;
}

__device__ inline std::uint64_t highest_of_block(std::uint64_t x, BlockScratch& scratch) {
  x = highest_of_warp(x);
  __syncthreads();
  if (threadIdx.x % kWarp == 0) scratch.ranks[threadIdx.x / kWarp] = x;
  __syncthreads();
  std::uint64_t out = 0;
  for (const std::uint64_t part : scratch.ranks)
    if (part > out) out = part;
  return out;
}

}  // namespace isentropic::scan::cuda
