// Products of bfloat16 factors: AVX-512-BF16, and the AMX set that shares its row kernels.
#include "attention/cpu/kernels/kernels_bf16.hpp"

#if defined(__x86_64__)

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns about its own intrinsics.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include "attention/cpu/kernels/amx.hpp"
#include "attention/cpu/kernels/narrow_product.hpp"

#define ISENTROPIC_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

namespace isentropic {
namespace {

// kRows x kStrips vectors of sums stay in registers.
template <int kRows, int kStrips>
ISENTROPIC_BF16 inline void product_tile(const NarrowProduct& x, std::int64_t r0, std::int64_t c0, Store store) {
  __m512 sum[kRows][kStrips];
  for (int r = 0; r < kRows; ++r)
    for (int s = 0; s < kStrips; ++s)
      sum[r][s] = store == Store::accumulate ? _mm512_loadu_ps(x.sum(r0 + r, c0 + s * kStrip)) : _mm512_setzero_ps();
  for (std::int64_t i = 0; i < x.inner; i += 2) {
    __m512bh b[kStrips];
    for (int s = 0; s < kStrips; ++s)
      b[s] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(x.right(i, c0 + s * kStrip)));
    for (int r = 0; r < kRows; ++r) {
      std::int32_t pair;
      __builtin_memcpy(&pair, x.left(r0 + r, i), sizeof(pair));
      const __m512bh a = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
      for (int s = 0; s < kStrips; ++s) sum[r][s] = _mm512_dpbf16_ps(sum[r][s], a, b[s]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int s = 0; s < kStrips; ++s) _mm512_storeu_ps(x.sum(r0 + r, c0 + s * kStrip), sum[r][s]);
}

template <int kStrips>
ISENTROPIC_BF16 inline void product_columns(const NarrowProduct& x, std::int64_t c0, Store store) {
  std::int64_t r = 0;
  for (; r + 6 <= x.rows; r += 6) product_tile<6, kStrips>(x, r, c0, store);
  for (; r + 2 <= x.rows; r += 2) product_tile<2, kStrips>(x, r, c0, store);
  for (; r < x.rows; ++r) product_tile<1, kStrips>(x, r, c0, store);
}

ISENTROPIC_BF16 void product(const NarrowProduct& x, Store store) {
  std::int64_t c = 0;
  for (; c + 4 * kStrip <= x.cols; c += 4 * kStrip) product_columns<4>(x, c, store);
  for (; c < x.cols; c += kStrip) product_columns<1>(x, c, store);
}

ISENTROPIC_BF16 inline __m512i widen_to_upper(__m256bh x) {
  return _mm512_slli_epi32(_mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(x)), 16);
}

// The remainder after rounding to bfloat16.
ISENTROPIC_BF16 inline __m512 rest(__m512 x, __m256bh high) {
  return _mm512_sub_ps(x, _mm512_castsi512_ps(widen_to_upper(high)));
}

ISENTROPIC_BF16 inline void store_row(bfloat16* out, __m256bh x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), reinterpret_cast<__m256i>(x));
}

ISENTROPIC_BF16 inline __m256bh load_row(const bfloat16* from) {
  return reinterpret_cast<__m256bh>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

ISENTROPIC_BF16 void round(const float* x, std::int64_t n, bfloat16* high, bfloat16* low) {
  for (std::int64_t j = 0; j < n; j += kStrip) {
    const __m512 value = _mm512_loadu_ps(x + j);
    const __m256bh rounded = _mm512_cvtneps_pbh(value);
    store_row(high + j, rounded);
    if (low) store_row(low + j, _mm512_cvtneps_pbh(rest(value, rounded)));
  }
}

ISENTROPIC_BF16 inline void store_pair(bfloat16* out, __m256bh x, __m256bh y) {
  const __m512i lower = _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(x));
  _mm512_storeu_si512(out, _mm512_or_si512(lower, widen_to_upper(y)));
}

ISENTROPIC_BF16 void round_pair(const float* x, float x_factor, const float* y, float y_factor, std::int64_t n,
                                std::int64_t strip_stride, bfloat16* high, bfloat16* low) {
  const __m512 by_x = _mm512_set1_ps(x_factor), by_y = _mm512_set1_ps(y_factor);
  for (std::int64_t j = 0; j < n; j += kStrip) {
    const __m512 first = _mm512_mul_ps(_mm512_loadu_ps(x + j), by_x);
    const __m512 second = _mm512_mul_ps(_mm512_loadu_ps(y + j), by_y);
    const __m256bh first_high = _mm512_cvtneps_pbh(first), second_high = _mm512_cvtneps_pbh(second);
    const std::int64_t strip = j / kStrip * strip_stride;
    store_pair(high + strip, first_high, second_high);
    if (low)
      store_pair(low + strip, _mm512_cvtneps_pbh(rest(first, first_high)),
                 _mm512_cvtneps_pbh(rest(second, second_high)));
  }
}

ISENTROPIC_BF16 void scale(float* x, std::int64_t n, float factor) {
  const __m512 by = _mm512_set1_ps(factor);
  for (std::int64_t j = 0; j < n; j += kStrip) _mm512_storeu_ps(x + j, _mm512_mul_ps(_mm512_loadu_ps(x + j), by));
}

// Transposes 16 x 16 32-bit numbers in four steps of one shuffle per row.
ISENTROPIC_BF16 inline void transpose(__m512i (&x)[16]) {
  __m512i y[16];
  for (int r = 0; r < 16; r += 2) {
    y[r] = _mm512_unpacklo_epi32(x[r], x[r + 1]);
    y[r + 1] = _mm512_unpackhi_epi32(x[r], x[r + 1]);
  }
  for (int r = 0; r < 16; r += 4)
    for (int half = 0; half < 2; ++half) {
      x[r + 2 * half] = _mm512_unpacklo_epi64(y[r + half], y[r + half + 2]);
      x[r + 2 * half + 1] = _mm512_unpackhi_epi64(y[r + half], y[r + half + 2]);
    }
  for (int r = 0; r < 4; ++r) {
    y[r] = _mm512_shuffle_i32x4(x[r], x[r + 4], 0x88);
    y[r + 4] = _mm512_shuffle_i32x4(x[r], x[r + 4], 0xdd);
    y[r + 8] = _mm512_shuffle_i32x4(x[r + 8], x[r + 12], 0x88);
    y[r + 12] = _mm512_shuffle_i32x4(x[r + 8], x[r + 12], 0xdd);
  }
  for (int r = 0; r < 8; ++r) {
    x[r] = _mm512_shuffle_i32x4(y[r], y[r + 8], 0x88);
    x[r + 8] = _mm512_shuffle_i32x4(y[r], y[r + 8], 0xdd);
  }
}

ISENTROPIC_BF16 void pack_columns(const bfloat16* rows, std::int64_t stride, std::int64_t n, bfloat16* strip) {
  for (std::int64_t i = 0; i < n; i += 16) {
    __m512i x[16];
    for (int r = 0; r < 16; ++r) x[r] = _mm512_loadu_si512(rows + r * stride + 2 * i);
    transpose(x);
    for (int r = 0; r < 16; ++r) _mm512_storeu_si512(strip + (i + r) * 2 * kStrip, x[r]);
  }
}

ISENTROPIC_BF16 void pack_pair(const bfloat16* x, const bfloat16* y, bfloat16* out) {
  store_pair(out, load_row(x), load_row(y));
}

constexpr NarrowKernels kVectors = {product, round, round_pair, scale, pack_columns, pack_pair, 96, false};
constexpr NarrowKernels kTiles = {amx::product, round, round_pair, scale, pack_columns, pack_pair, 32, true};

bool has_avx512_bf16() { return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vl"); }

Kernels extended(Kernels base, const char* name, bool (*supported)(), const NarrowKernels& narrow) {
  base.name = name;
  base.supported = supported;
  base.narrow = &narrow;
  return base;
}

}  // namespace

std::vector<const Kernels*> bf16_kernels(const Kernels& avx512) {
  static const Kernels tiles = extended(
      avx512, "amx", [] { return has_avx512_bf16() && amx::available(); }, kTiles);
  static const Kernels vectors = extended(avx512, "avx512_bf16", has_avx512_bf16, kVectors);
  return {&tiles, &vectors};
}

}  // namespace isentropic

#else

namespace isentropic {
std::vector<const Kernels*> bf16_kernels(const Kernels&) { return {}; }
}  // namespace isentropic

#endif
