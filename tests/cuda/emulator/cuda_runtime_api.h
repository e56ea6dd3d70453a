// CUDA's runtime and device functions, as far as the kernels and their tests use them, for the emulator.
#pragma once

#include <math.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cuda/emulator/block.hpp"
#include "cuda/emulator/memory.hpp"

// ---- Language keywords ----

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static  // blocks run sequentially

using dim3 = emulator::Extent;
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

// ---- Host calls ----

enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorInvalidConfiguration, cudaErrorInsufficientDriver };
using cudaStream_t = struct EmulatedStream*;
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaDeviceAttr {
  cudaDevAttrMaxSharedMemoryPerBlockOptin,
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrComputeCapabilityMajor,
  cudaDevAttrComputeCapabilityMinor
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };

inline const char* cudaGetErrorString(cudaError_t error) {
  const char* const names[] = {"no error", "invalid value", "invalid configuration", "insufficient driver"};
  return names[error];
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
inline cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  const int numbers[] = {227 << 10, 16, 9, 0};  // indexed by attribute
  *value = numbers[attribute];
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int) {
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel*, int, std::size_t) {
  return *blocks = 2, cudaSuccess;
}

inline cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  *data = emulator::allocate(bytes);
  return *data ? cudaSuccess : cudaErrorInvalidValue;
}
inline cudaError_t cudaFree(void* data) { return emulator::give_back(data), cudaSuccess; }
inline cudaError_t cudaMemset(void* data, int byte, std::size_t bytes) {
  return std::memset(data, byte, bytes), cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* data, int byte, std::size_t bytes, cudaStream_t) {
  return cudaMemset(data, byte, bytes);
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return cudaSuccess;
}

// ---- Barriers and lanes ----

inline void __syncthreads() { emulator::wait_for_block("__syncthreads", false); }
inline int __syncthreads_or(int x) { return emulator::wait_for_block("__syncthreads_or", x != 0) > 0; }
inline int __syncthreads_count(int x) { return emulator::wait_for_block("__syncthreads_count", x != 0); }
inline void __threadfence() {}

namespace emulator {

inline void expect_whole_warp(unsigned mask) {
  if (mask != 0xffffffffu) fail("only whole warps are emulated");
}

// The value of lane from(own lane), or the lane's own value if there is no such lane.
template <class T, class From>
T shuffle(const char* instruction, unsigned mask, T x, From from) {
  struct Lane {
    T given, taken;
    From from;
  } own = {x, x, from};
  expect_whole_warp(mask);
  with_warp(instruction, own, [](auto lane) {
    for (int l = 0; l < 32; ++l)
      if (const int other = lane(l).from(l); other >= 0 && other < 32) lane(l).taken = lane(other).given;
  });
  return own.taken;
}

// Folds `combine` over the lanes in order.
template <class T, class Combine>
T reduce(const char* instruction, unsigned mask, T x, Combine combine) {
  T own = x;
  expect_whole_warp(mask);
  with_warp(instruction, own, [&](auto lane) {
    T all = lane(0);
    for (int l = 1; l < 32; ++l) all = combine(all, lane(l));
    for (int l = 0; l < 32; ++l) lane(l) = all;
  });
  return own;
}

}  // namespace emulator

inline void __syncwarp(unsigned mask = 0xffffffffu) {
  emulator::reduce("__syncwarp", mask, 0, [](int, int) { return 0; });
}
template <class T>
T __shfl_sync(unsigned mask, T x, int from) {
  return emulator::shuffle("__shfl_sync", mask, x, [from](int) { return from % 32; });
}
template <class T>
T __shfl_xor_sync(unsigned mask, T x, int bits) {
  return emulator::shuffle("__shfl_xor_sync", mask, x, [bits](int lane) { return lane ^ bits; });
}
template <class T>
T __shfl_down_sync(unsigned mask, T x, int step) {
  return emulator::shuffle("__shfl_down_sync", mask, x, [step](int lane) { return lane + step; });
}
inline int __any_sync(unsigned mask, int x) {
  return emulator::reduce("__any_sync", mask, x != 0, [](bool a, bool b) { return a || b; });
}

// ---- Numbers ----

template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  return b < a ? b : a;
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  return a < b ? b : a;
}
template <class T>
T __reduce_min_sync(unsigned mask, T x) {
  return emulator::reduce("__reduce_min_sync", mask, x, [](T a, T b) { return min(a, b); });
}
template <class T>
T __reduce_max_sync(unsigned mask, T x) {
  return emulator::reduce("__reduce_max_sync", mask, x, [](T a, T b) { return max(a, b); });
}

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
// Sets all bits of each 16-bit half that is equal in both.
inline unsigned __vcmpeq2(unsigned a, unsigned b) {
  const unsigned differ = a ^ b;
  return (differ & 0xffffu ? 0 : 0xffffu) | (differ >> 16 ? 0 : 0xffff0000u);
}

template <class T>
T atomicAdd(T* to, std::type_identity_t<T> x) {
  const T before = *to;
  *to = before + x;
  return before;
}
template <class T>
T atomicSub(T* to, std::type_identity_t<T> x) {
  const T before = *to;
  *to = before - x;
  return before;
}
template <class T>
T atomicMin(T* to, std::type_identity_t<T> x) {
  const T before = *to;
  *to = min(before, x);
  return before;
}
template <class T>
T atomicMax(T* to, std::type_identity_t<T> x) {
  const T before = *to;
  *to = max(before, x);
  return before;
}
