// Adds the weights of a row to those of others, key by key:  mass += p,  p = e^{(s - m) - (L - m)}.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "attention/cpu/kernels/exp.hpp"
#include "attention/cpu/kernels/kernels.hpp"

namespace isentropic {

// s: finished scores, -inf where hidden; log_partition: L - m. n a multiple of kPad.
template <class T>
inline void portable_add_weights(const T* s, std::int64_t n, T m, T log_partition, T* mass) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  for (std::int64_t j = 0; j < n; ++j) mass[j] += s[j] == kHidden ? T(0) : exp_not_positive(s[j] - m - log_partition);
}

template <class T>
inline void add_weights(const T* s, std::int64_t n, T m, T log_partition, T* mass) {
  if constexpr (std::is_same_v<T, float>)
    active_kernels().add_weights(s, n, m, log_partition, mass);
  else
    portable_add_weights(s, n, m, log_partition, mass);
}

}  // namespace isentropic
