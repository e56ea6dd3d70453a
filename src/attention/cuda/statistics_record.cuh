// Reads stored row results back on the device.
#pragma once

#include "attention/cuda/rows.hpp"
#include "attention/cuda/visible_keys.cuh"

namespace isentropic::cuda {

// A thread's row in [batch, heads, n_q].
struct RowIndex {
  std::int64_t row, b, h, i;
};

__device__ inline RowIndex row_index(const Problem& p, std::int64_t row) {
  if (p.batch * p.heads * p.n_q <= 0x7fffffff) {  // 32-bit divisions cost a fifth
    const auto narrow = static_cast<unsigned>(row), n_q = static_cast<unsigned>(p.n_q);
    const unsigned line = narrow / n_q, heads = static_cast<unsigned>(p.heads);
    return {row, line / heads, line % heads, narrow - line * n_q};
  }
  return {row, row / p.n_q / p.heads, row / p.n_q % p.heads, row % p.n_q};
}

// 0 for a null array.
template <class R>
__device__ double number_at(const void* array, std::int64_t index) {
  return array ? static_cast<double>(static_cast<const R*>(array)[index]) : 0.0;
}

template <class R>
__device__ double number_at(const LawParameter& parameter, std::int64_t h) {
  return parameter.values ? number_at<R>(parameter.values, parameter.by_head ? h : 0) : parameter.number;
}

// Number of keys the row sees: as counted before, or from its spans.
__device__ inline std::int64_t count_at(const std::int64_t* counts, const Problem& p, const RowIndex& at) {
  return counts ? counts[at.row] : count_of(spans_of(p, at.b, at.i));
}

template <class R>
__device__ SoftmaxRecord<double> record_at(const Problem& p, const RowArrays& rows, const RowIndex& at) {
  SoftmaxRecord<double> keys;
  keys.m = number_at<R>(rows.m, at.row);
  keys.sums = {number_at<R>(rows.z, at.row), number_at<R>(rows.u, at.row), number_at<R>(rows.w, at.row),
               number_at<R>(rows.c, at.row)};
  keys.k = count_at(rows.k, p, at);
  return keys;
}

}  // namespace isentropic::cuda
