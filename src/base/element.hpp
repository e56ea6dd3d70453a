// Elements of any type, read and written as numbers: the only place that dispatches on element types.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "isentropic/tensor.hpp"

namespace isentropic {

// Calls f.operator()<T>() with the C++ type of `type`.
template <class F>
decltype(auto) with_element_type(DType type, F&& f) {
  switch (type) {
    case DType::float32:
      return f.template operator()<float>();
    case DType::bfloat16:
      return f.template operator()<bfloat16>();
    case DType::float16:
      return f.template operator()<float16>();
    case DType::float64:
      return f.template operator()<double>();
    case DType::boolean:
      return f.template operator()<bool>();
    case DType::int64:
      break;
  }
  return f.template operator()<std::int64_t>();
}

// The type a problem computes in: double for float64, float for all narrower ones.
template <class F>
decltype(auto) with_compute_type(DType type, F&& f) {
  if (type == DType::float64) return f.template operator()<double>();
  return f.template operator()<float>();
}

inline bool is_floating(DType type) { return type != DType::boolean && type != DType::int64; }

template <class T, class E>
inline T from_element(E x) {
  if constexpr (std::is_same_v<E, bfloat16> || std::is_same_v<E, float16>)
    return static_cast<T>(to_float(x));
  else
    return static_cast<T>(x);
}

template <class E, class T>
inline E to_element(T x) {
  if constexpr (std::is_same_v<E, bfloat16>)
    return to_bfloat16(static_cast<float>(x));
  else if constexpr (std::is_same_v<E, float16>)
    return to_float16(static_cast<float>(x));
  else
    return static_cast<E>(x);
}

// The element at `offset` from the start of the view.
inline double element(const View& view, std::int64_t offset) {
  return with_element_type(view.type,
                           [&]<class E>() { return from_element<double>(static_cast<const E*>(view.data)[offset]); });
}

// In an additive mask or a bias, -inf or the type's lowest value means a masked key.
template <class E>
inline bool is_masking(E value) {
  if constexpr (std::is_same_v<E, float16>)
    return value.bits == 0xFBFF || value.bits == 0xFC00;
  else if constexpr (std::is_same_v<E, bfloat16>)
    return value.bits == 0xFF7F || value.bits == 0xFF80;
  else if constexpr (std::is_floating_point_v<E>)
    return value <= std::numeric_limits<E>::lowest();
  else
    return false;
}

inline bool is_masking(const View& view, std::int64_t offset) {
  return with_element_type(view.type, [&]<class E>() { return is_masking(static_cast<const E*>(view.data)[offset]); });
}

// The offset of (i0, i1, i2, ...); an axis of length 1 is broadcast.
template <class... Index>
inline std::int64_t broadcast_offset(const View& view, Index... index) {
  std::int64_t offset = 0;
  std::size_t axis = 0;
  ((offset += (view.shape[axis] == 1 ? 0 : index * view.stride[axis]), ++axis), ...);
  return offset;
}

// x * 0 is 0 unless x is NaN or Inf; separate lanes let compilers vectorise the loop.
template <class T>
inline bool all_finite(const T* x, std::int64_t n) {
  constexpr int kLanes = 16;
  T probe[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int l = 0; l < kLanes; ++l) probe[l] += x[i + l] * T(0);
  for (; i < n; ++i) probe[0] += x[i] * T(0);
  for (int l = 1; l < kLanes; ++l) probe[0] += probe[l];
  return probe[0] == T(0);
}

// Copies n contiguous elements from `offset` on. Returns whether all are finite.
template <class T>
inline bool load(const View& view, std::int64_t offset, std::int64_t n, T* out) {
  with_element_type(view.type, [&]<class E>() {
    const E* in = static_cast<const E*>(view.data) + offset;
    for (std::int64_t i = 0; i < n; ++i) out[i] = from_element<T>(in[i]);
  });
  return all_finite(out, n);
}

// Writes n numbers into a tensor from element `offset` on.
template <class T>
inline void store(Tensor& tensor, std::int64_t offset, std::int64_t n, const T* in) {
  with_element_type(tensor.type(), [&]<class E>() {
    E* out = tensor.values<E>().data() + offset;
    for (std::int64_t i = 0; i < n; ++i) out[i] = to_element<E>(in[i]);
  });
}

}  // namespace isentropic
