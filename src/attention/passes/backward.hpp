// Code shared by all backward passes, apart from kernels.
#pragma once

#include "attention/problem/dims.hpp"
#include "base/element.hpp"

namespace isentropic {

// Zero gradients of query, key, value and lambda.
AttentionGradients allocate_gradients(const AttentionProblem& problem);

// g x, except that a gradient of 0 stays 0 whatever x is: a row or key that is never seen may contain NaN or Inf.
template <class T>
inline T contained_product(T g, T x) {
  return g == T(0) ? T(0) : g * x;
}

template <class T>
inline double contained_dot(const T* g, const T* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t c = 0; c < n; ++c) sum += contained_product(static_cast<double>(g[c]), static_cast<double>(x[c]));
  return sum;
}

// Whether a row's upstream gradients are all 0: those of its statistics, in its constants, and that of its output.
inline bool is_zero(const RowConstants& c) { return c.base == 0 && c.a1 == 0 && c.a2 == 0 && c.a3 == 0; }

inline bool is_zero(const View& output_gradient, std::int64_t b, std::int64_t h, std::int64_t i) {
  if (!output_gradient.present()) return true;
  const std::int64_t from = broadcast_offset(output_gradient, b, h, i, 0);
  for (std::int64_t c = 0; c < output_gradient.shape[3]; ++c)
    if (element(output_gradient, from + c) != 0) return false;
  return true;
}

// [heads]: value(row) summed over batch and queries.
template <class F>
Tensor sum_by_head(const Dims& dims, DType type, F value) {
  std::vector<double> sums(dims.heads, 0.0);
  for (std::int64_t row = 0; row < dims.rows(); ++row) sums[row / dims.n_q % dims.heads] += value(row);
  Tensor out(type, {dims.heads});
  store(out, 0, dims.heads, sums.data());
  return out;
}

}  // namespace isentropic
