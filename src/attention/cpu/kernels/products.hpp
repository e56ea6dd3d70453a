// The matrix product of the plain kernels: out[r, c] (+)= sum_i W(r, i) B[i, c].
//
// W is read through two strides, so that the same code serves scores (rows times packed keys), outputs (weights times
// values) and key gradients (transposed weights times queries). Each element is summed over i in order, whatever the
// block, so every pass computes bit-identical scores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "attention/cpu/kernels/kernels.hpp"

namespace isentropic {

inline constexpr std::int64_t kPad = 16;  // columns of packed matrices are padded to a multiple of it
inline std::int64_t padded(std::int64_t n) { return (n + kPad - 1) / kPad * kPad; }

template <class T>
struct Weights {
  const T* data;
  std::int64_t row_stride, inner_stride;
  T operator()(std::int64_t r, std::int64_t i) const { return data[r * row_stride + i * inner_stride]; }
};

// rows x cols, cols a multiple of kPad.
template <class T>
struct Product {
  Weights<T> weights;
  const T* b;
  std::int64_t b_stride;
  std::int64_t rows, inner, cols;
  T* out;
  std::int64_t out_stride;
  const T* row_factor = nullptr;  // overwrite: each row is multiplied by its factor
  // Skips the rows of B with weight exactly 0, which may contain NaN or Inf; other results are bit-identical.
  bool skip_zero_weights = false;
};

namespace detail {

// A vector that fits one register of the smallest target; GCC and Clang keep this type in registers. With plain arrays
// GCC vectorises the wrong loop and loses a factor of four.
template <class T>
struct Lanes {
  typedef T Type __attribute__((vector_size(16)));
  static constexpr int kCount = 16 / sizeof(T);
};

template <int kRows, Store store, bool kSkipZeros, class T>
void product_rows(const Product<T>& x, std::int64_t r0) {
  static_assert(kRows == 1 || !kSkipZeros, "rows differ in what they skip");
  using Vector = typename Lanes<T>::Type;
  constexpr int kCount = Lanes<T>::kCount;
  for (std::int64_t c0 = 0; c0 < x.cols; c0 += 2 * kCount) {
    Vector left[kRows] = {}, right[kRows] = {}, b0, b1;
    for (std::int64_t i = 0; i < x.inner; ++i) {
      if (kSkipZeros && x.weights(r0, i) == T(0)) continue;
      const T* b = x.b + i * x.b_stride + c0;
      std::memcpy(&b0, b, sizeof(Vector));
      std::memcpy(&b1, b + kCount, sizeof(Vector));
      for (int r = 0; r < kRows; ++r) {
        const T w = x.weights(r0 + r, i);
        left[r] += w * b0;
        right[r] += w * b1;
      }
    }
    for (int r = 0; r < kRows; ++r) {
      T* out = x.out + (r0 + r) * x.out_stride + c0;
      if constexpr (store == Store::accumulate) {
        std::memcpy(&b0, out, sizeof(Vector));
        std::memcpy(&b1, out + kCount, sizeof(Vector));
        left[r] += b0;
        right[r] += b1;
      }
      if constexpr (store == Store::overwrite) {
        if (x.row_factor) left[r] *= x.row_factor[r0 + r], right[r] *= x.row_factor[r0 + r];
      }
      std::memcpy(out, &left[r], sizeof(Vector));
      std::memcpy(out + kCount, &right[r], sizeof(Vector));
    }
  }
}

}  // namespace detail

template <Store store, class T>
void portable_product(const Product<T>& x) {
  std::int64_t r = 0;
  for (; r + 4 <= x.rows && !x.skip_zero_weights; r += 4) detail::product_rows<4, store, false>(x, r);
  for (; r < x.rows; ++r)
    x.skip_zero_weights ? detail::product_rows<1, store, true>(x, r) : detail::product_rows<1, store, false>(x, r);
}

template <Store store, class T>
void product(const Product<T>& x) {
  if constexpr (std::is_same_v<T, float>)
    active_kernels().product(x, store);
  else
    portable_product<store>(x);
}

// Accumulates, skipping zero weights if B may contain NaN or Inf.
template <class T>
void accumulate(Product<T> x, bool b_finite) {
  x.skip_zero_weights = !b_finite;
  product<Store::accumulate>(x);
}

}  // namespace isentropic
