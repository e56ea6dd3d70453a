// Instructions that CUDA C++ does not expose: asynchronous copies, fragment loads, matrix products, ordered counters.
// Shared-memory addresses are 32 bits, as the instructions expect.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace isentropic::cuda {

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

__device__ inline void store_shared(std::uint32_t to, std::uint32_t x) {
  asm volatile("st.shared.b32 [%0], %1;\n" ::"r"(to), "r"(x) : "memory");
}
__device__ inline std::uint32_t load_shared(std::uint32_t from) {
  std::uint32_t x;
  asm volatile("ld.shared.b32 %0, [%1];\n" : "=r"(x) : "r"(from) : "memory");
  return x;
}

// Copies 16 bytes to shared memory asynchronously; zeros unless `valid`.
__device__ inline void copy_async(std::uint32_t to, const void* from, bool valid) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(bytes));
}
// The same for one float.
__device__ inline void copy_number(std::uint32_t to, const float* from, bool valid) {
  const int bytes = valid ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\n" ::"r"(to), "l"(from), "r"(bytes));
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;\n"); }
// Waits until at most `kPending` committed groups are still in flight.
template <int kPending>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending));
}

// Loads four 8 x 8 matrices of 16-bit elements; lane l passes the address of a row of matrix l / 8.
__device__ inline void load_fragments(std::uint32_t (&out)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(row));
}
__device__ inline void load_fragments_transposed(std::uint32_t (&out)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(row));
}

// Stores two or four such matrices: one instruction since sm_90. Lane l passes the address of row l % 8, matrix l / 8.
#if __CUDA_ARCH__ >= 900
inline constexpr bool kStoresMatrices = true;
__device__ inline void store_matrices(std::uint32_t row, const std::uint32_t (&x)[2]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};\n" ::"r"(row), "r"(x[0]), "r"(x[1]) : "memory");
}
__device__ inline void store_matrices(std::uint32_t row, const std::uint32_t (&x)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};\n" ::"r"(row), "r"(x[0]), "r"(x[1]),
               "r"(x[2]), "r"(x[3])
               : "memory");
}
#else
inline constexpr bool kStoresMatrices = false;
template <int kCount>
__device__ inline void store_matrices(std::uint32_t, const std::uint32_t (&)[kCount]) {}
#endif

// c += a b, with a 16 x 16 and b 16 x 8.
template <class E>
__device__ inline void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);
template <>
__device__ inline void multiply_add<__nv_bfloat16>(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                                   std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ inline void multiply_add<__half>(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                            std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// 2^x in one instruction; 0 for -inf and where the result is below 2^-126.
__device__ inline float exp2_fast(float x) {
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

// Reads a device counter; the value may be stale.
__device__ inline unsigned glance_at_count(const unsigned* count) {
  unsigned found;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];\n" : "=r"(found) : "l"(count) : "memory");
  return found;
}
// Waits until a device counter equals `value`; everything its writers did before incrementing it is then visible.
__device__ inline void wait_for_count(const unsigned* count, unsigned value) {
  unsigned found;
  do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];\n" : "=r"(found) : "l"(count) : "memory");
  while (found != value);
}
__device__ inline void raise_count(unsigned* count) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;\n" ::"l"(count) : "memory");
}

// sm_90 adds four floats at a 16-byte boundary in one instruction.
#if __CUDA_ARCH__ >= 900
inline constexpr bool kAddsFour = true;
__device__ inline void add_four(float* to, const float (&x)[4]) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};\n" ::"l"(to), "f"(x[0]), "f"(x[1]), "f"(x[2]),
               "f"(x[3])
               : "memory");
}
#else
inline constexpr bool kAddsFour = false;
__device__ inline void add_four(float*, const float (&)[4]) {}
#endif

}  // namespace isentropic::cuda
