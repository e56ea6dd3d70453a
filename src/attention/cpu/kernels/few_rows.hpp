// Products with few left rows, as in decoding: bound by the bandwidth of keys and values, which are therefore read
// once, in place, in their own floating type.
#pragma once

#include <cstdint>
#include <type_traits>

#include "attention/cpu/kernels/kernels.hpp"
#include "attention/cpu/kernels/products.hpp"
#include "base/element.hpp"

namespace isentropic {

// Rows of elements, `stride` elements apart.
struct InPlace {
  const void* data = nullptr;
  DType type = DType::float32;
  std::int64_t stride = 0;
};

template <class T>
struct FewRowsProduct {
  const T* left;  // [rows, left_stride]: queries, or weights
  std::int64_t left_stride, rows;
  InPlace right;             // [keys, width]: keys, or values
  std::int64_t keys, width;  // width a multiple of kPad
  T* out;
  std::int64_t out_stride;
  const T* row_factor;  // for dots
};

// out[r, j] = factor_r sum_c left[r, c] right[j, c], with separate lanes so that compilers vectorise it.
template <class T>
void portable_dots(const FewRowsProduct<T>& x) {
  with_element_type(x.right.type, [&]<class E>() {
    for (std::int64_t j = 0; j < x.keys; ++j)
      for (std::int64_t r = 0; r < x.rows; ++r) {
        const E* key = static_cast<const E*>(x.right.data) + j * x.right.stride;
        T lanes[kPad] = {}, sum = 0;
        for (std::int64_t c = 0; c < x.width; c += kPad)
          for (std::int64_t l = 0; l < kPad; ++l)
            lanes[l] += x.left[r * x.left_stride + c + l] * from_element<T>(key[c + l]);
        for (std::int64_t l = 0; l < kPad; ++l) sum += lanes[l];
        x.out[r * x.out_stride + j] = x.row_factor[r] * sum;
      }
  });
}

// out[r, c] += sum_j left[r, j] right[j, c]
template <class T>
void portable_weigh(const FewRowsProduct<T>& x) {
  with_element_type(x.right.type, [&]<class E>() {
    for (std::int64_t j = 0; j < x.keys; ++j)
      for (std::int64_t r = 0; r < x.rows; ++r) {
        const E* value = static_cast<const E*>(x.right.data) + j * x.right.stride;
        const T weight = x.left[r * x.left_stride + j];
        for (std::int64_t c = 0; c < x.width; ++c) x.out[r * x.out_stride + c] += weight * from_element<T>(value[c]);
      }
  });
}

template <class T>
void dots(const FewRowsProduct<T>& x) {
  if constexpr (std::is_same_v<T, float>)
    active_kernels().dots(x);
  else
    portable_dots(x);
}

// A weight of exactly 0 must ignore its value. The fast path multiplies by it anyway, which shows only in a non-finite
// result; in that case the result is recomputed, skipping zero weights.
template <class T>
void weigh(const FewRowsProduct<T>& x) {
  const std::vector<T> before(x.out, x.out + x.rows * x.out_stride);
  if constexpr (std::is_same_v<T, float>)
    active_kernels().weigh(x);
  else
    portable_weigh(x);
  if (all_finite(x.out, x.rows * x.out_stride)) return;
  std::copy(before.begin(), before.end(), x.out);
  with_element_type(x.right.type, [&]<class E>() {
    for (std::int64_t r = 0; r < x.rows; ++r)
      for (std::int64_t j = 0; j < x.keys; ++j) {
        const T weight = x.left[r * x.left_stride + j];
        const E* value = static_cast<const E*>(x.right.data) + j * x.right.stride;
        for (std::int64_t c = 0; weight != T(0) && c < x.width; ++c)
          x.out[r * x.out_stride + c] += weight * from_element<T>(value[c]);
      }
  });
}

}  // namespace isentropic
