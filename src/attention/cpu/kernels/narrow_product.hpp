// The matrix product of 16-bit factors: out[r, c] (+)= sum_i A[r, i] B[i, c], A and B bfloat16, sums float32.
//
// The factors are laid out as matrix units read them: A in row-major order, B in strips of kStrip columns with rows in
// pairs, [strip][inner / 2][kStrip][2]. The inner length is a multiple of kNarrowInner, zero-padded in both.
#pragma once

#include <cstdint>

#include "attention/cpu/kernels/kernels.hpp"
#include "isentropic/tensor.hpp"

namespace isentropic {

inline constexpr std::int64_t kNarrowInner = 32, kStrip = 16;

inline std::int64_t padded_inner(std::int64_t n) { return (n + kNarrowInner - 1) / kNarrowInner * kNarrowInner; }

// Work for the vector units while tiles are multiplied: kernels that can overlap both call step() every few tiles.
struct OverlappedWork {
  virtual void step() = 0;

 protected:
  ~OverlappedWork() = default;
};

struct NarrowProduct {
  const bfloat16* a;
  std::int64_t a_stride;
  const bfloat16* b;
  std::int64_t strip_stride;
  std::int64_t rows, inner, cols;  // cols a multiple of kStrip
  float* out;
  std::int64_t out_stride;
  OverlappedWork* overlapped = nullptr;

  const bfloat16* left(std::int64_t r, std::int64_t i) const { return a + r * a_stride + i; }
  const bfloat16* right(std::int64_t i, std::int64_t c) const { return b + c / kStrip * strip_stride + i * kStrip; }
  float* sum(std::int64_t r, std::int64_t c) const { return out + r * out_stride + c; }
};

// The kernels of a CPU with instructions for such products.
struct NarrowKernels {
  void (*product)(const NarrowProduct&, Store);
  // high = x rounded to bfloat16; low, unless null, is the remainder rounded the same way. n: a multiple of kStrip.
  void (*round)(const float* x, std::int64_t n, bfloat16* high, bfloat16* low);
  // The same for two rows, each times its factor, stored as a pair of rows of a right factor.
  void (*round_pair)(const float* x, float x_factor, const float* y, float y_factor, std::int64_t n,
                     std::int64_t strip_stride, bfloat16* high, bfloat16* low);
  void (*scale)(float* x, std::int64_t n, float factor);
  // Packing: kStrip rows, `stride` apart and n pairs long, become the columns of a strip; two rows become pairs.
  void (*pack_columns)(const bfloat16* rows, std::int64_t stride, std::int64_t n, bfloat16* strip);
  void (*pack_pair)(const bfloat16* x, const bfloat16* y, bfloat16* out);  // kStrip of each
  std::int64_t row_group;  // rows to multiply at a time, so that their scores and weights stay in cache
  // float16 split into two bfloat16 takes four products; true if that still beats float32.
  bool splits_float16;
};

}  // namespace isentropic
