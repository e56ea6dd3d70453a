// Instructions of sm_80 that the kernels are made of: asynchronous copies, fragment loads, matrix products.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace isentropic::cuda {

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

// 16 bytes into shared memory, asynchronously; zeros instead unless `valid`.
__device__ inline void copy_async(std::uint32_t to, const void* from, bool valid) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(bytes));
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;\n"); }
// Until at most `kPending` of the committed groups are under way.
template <int kPending>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending));
}

// Four 8 x 8 matrices of 16-bit elements; lane l gives the address of a row of matrix l / 8.
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

// Two or four 8 x 8 matrices that lie beside one another, 16 bytes each of a row; lane l gives the address of row l % 8
// of matrix l / 8. GPUs before sm_90 have no such instruction: there lane l gives the address of its own part of row
// l / 4 of the first matrix, and the others' lie at exclusive ors with multiples of 16.
template <int kCount>
__device__ inline void store_fragments(std::uint32_t row, const std::uint32_t (&x)[kCount]) {
  static_assert(kCount == 2 || kCount == 4);
#if __CUDA_ARCH__ >= 900
  if constexpr (kCount == 4)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};\n" ::"r"(row), "r"(x[0]), "r"(x[1]),
                 "r"(x[2]), "r"(x[3])
                 : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};\n" ::"r"(row), "r"(x[0]), "r"(x[1])
                 : "memory");
#else
#pragma unroll
  for (int matrix = 0; matrix < kCount; ++matrix)
    asm volatile("st.shared.b32 [%0], %1;\n" ::"r"(row ^ (matrix * 16)), "r"(x[matrix]) : "memory");
#endif
}

// c += a b, 16 x 16 times 16 x 8.
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

// 2^x in one instruction: 0 for -inf.
__device__ inline float exp2_fast(float x) {
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

// Of the four lanes that hold a row of a fragment.
__device__ inline float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
__device__ inline float row_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

}  // namespace isentropic::cuda
