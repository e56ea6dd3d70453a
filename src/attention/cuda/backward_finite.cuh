// Finds non-finite 16-bit numbers in shared memory and keeps them out of sums in which their weight is 0.
#pragma once

#include "attention/cuda/backward_tiles.cuh"

namespace isentropic::cuda {

// A packed pair with non-finite numbers replaced by 0.
template <class E>
__device__ inline std::uint32_t finite_pair(std::uint32_t pair) {
  constexpr std::uint32_t kExponent = std::is_same_v<E, __half> ? 0x7c00u : 0x7f80u;
  if ((pair & kExponent) == kExponent) pair &= 0xffff0000u;
  if ((pair & kExponent << 16) == kExponent << 16) pair &= 0x0000ffffu;
  return pair;
}

// A packed pair with every number other than 0 and -0 replaced by NaN.
__device__ inline std::uint32_t nan_unless_zero(std::uint32_t pair) {
  if (pair & 0x7fffu) pair |= 0x7fffu;
  if (pair & 0x7fff0000u) pair |= 0x7fff0000u;
  return pair;
}

// Zeroes non-finite numbers among the kNumbers at `at`, using all threads of a block; calls found(pair) for each
// change.
template <class E, int kNumbers, class Found>
__device__ inline void zero_what_is_not_finite(std::uint32_t at, Found found) {
#pragma unroll 1
  for (int pair = static_cast<int>(threadIdx.x); pair < kNumbers / 2; pair += kBackwardThreads) {
    const std::uint32_t before = load_shared(at + pair * 4), after = finite_pair<E>(before);
    if (after == before) continue;
    store_shared(at + pair * 4, after);
    found(pair);
  }
}

}  // namespace isentropic::cuda
