// bound tanh(s / bound) and its derivative for a row of scores.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "attention/cpu/kernels/kernels.hpp"

namespace isentropic {

template <class T>
inline void portable_soft_cap(T* s, T* derivative, std::int64_t n, T bound) {
  for (std::int64_t j = 0; j < n; ++j) {
    const T t = std::tanh(s[j] / bound);
    s[j] = bound * t;
    derivative[j] = 1 - t * t;
  }
}

template <class T>
inline void soft_cap(T* s, T* derivative, std::int64_t n, T bound) {
  if constexpr (std::is_same_v<T, float>)
    active_kernels().soft_cap(s, derivative, n, bound);
  else
    portable_soft_cap(s, derivative, n, bound);
}

}  // namespace isentropic
