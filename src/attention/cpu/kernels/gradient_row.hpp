// One row of score gradients:  dS = p (gate dP + base + a1 (s - E) + a2 (s - E)^2 + a3 p),  p = e^{(s - m) - (L - m)}.
#pragma once

#include <cstdint>
#include <limits>

#include "attention/cpu/kernels/exp.hpp"
#include "attention/cpu/kernels/kernels.hpp"
#include "isentropic/attention.hpp"

namespace isentropic {

// s: finished scores, -inf where hidden; becomes p. dp: gradient of the weights before the sink's share; becomes dS.
template <class T>
inline void portable_gradient_row(const RowConstants& row, std::int64_t n, T* s, T* dp) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  const T m = static_cast<T>(row.max_score);
  const T log_partition = static_cast<T>(row.log_partition), mean = static_cast<T>(row.mean_score);
  const T gate = static_cast<T>(row.gate), base = static_cast<T>(row.base);
  const T a1 = static_cast<T>(row.a1), a2 = static_cast<T>(row.a2), a3 = static_cast<T>(row.a3);
  for (std::int64_t j = 0; j < n; ++j) {
    const bool hidden = s[j] == kHidden;
    const T x = s[j] - m;
    const T p = hidden ? T(0) : exp_not_positive(x - log_partition);
    const T t = hidden ? T(0) : x - mean;
    const T inner = gate * dp[j] + base + a1 * t + a2 * t * t + a3 * p;
    dp[j] = p == T(0) ? T(0) : p * inner;  // dp of hidden keys may be NaN
    s[j] = p;
  }
}

template <class T>
inline void softmax_gradient_row(const RowConstants& row, std::int64_t n, T* s, T* dp) {
  if (row.max_score == -std::numeric_limits<double>::infinity()) {  // no visible key
    std::fill_n(s, n, T(0));
    std::fill_n(dp, n, T(0));
    return;
  }
  if constexpr (std::is_same_v<T, float>)
    active_kernels().gradient_row(row, n, s, dp);
  else
    portable_gradient_row(row, n, s, dp);
}

}  // namespace isentropic
