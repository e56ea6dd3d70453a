// Building blocks of the tensor-core kernels: instructions, packing of numbers, and sums over fragments.
#pragma once

#include "attention/cuda/instructions.cuh"

namespace isentropic::cuda {

// Stores two or four adjacent 8 x 8 matrices, 16 bytes of a row each, at the address from place_to_store.
template <int kCount>
__device__ inline void store_fragments(std::uint32_t place, const std::uint32_t (&x)[kCount]) {
  static_assert(kCount == 2 || kCount == 4);
  if constexpr (kStoresMatrices) {
    store_matrices(place, x);
  } else {
#pragma unroll
    for (int matrix = 0; matrix < kCount; ++matrix) store_shared(place ^ (matrix * 16), x[matrix]);
  }
}

// Two numbers rounded into one register, x in the low half.
template <class E>
__device__ inline std::uint32_t pack(float x, float y);
template <>
__device__ inline std::uint32_t pack<__nv_bfloat16>(float x, float y) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(x, y);
  return reinterpret_cast<const std::uint32_t&>(both);
}
template <>
__device__ inline std::uint32_t pack<__half>(float x, float y) {
  const __half2 both = __floats2half2_rn(x, y);
  return reinterpret_cast<const std::uint32_t&>(both);
}

// Reductions over the four lanes that hold a row of a fragment.
__device__ inline float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
__device__ inline float row_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

}  // namespace isentropic::cuda
