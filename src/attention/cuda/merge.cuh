// Records in arrays, and the share that a part has in the rows it is merged into.
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// Sums that are NaN make the maximum NaN: where all scores are NaN there is none, and -inf would say that no key
// counts.
template <class R>
__device__ inline SoftmaxRecord<R> with_nan_in_maximum(SoftmaxRecord<R> record) {
  if (record.sums.z != record.sums.z) record.m = record.sums.z;
  return record;
}

template <class R>
__device__ inline SoftmaxRecord<R> load_record(const RowArrays& rows, std::int64_t place) {
  const auto real = [&](const void* array) { return array ? static_cast<const R*>(array)[place] : R(0); };
  return with_nan_in_maximum<R>({real(rows.m),
                                 {real(rows.z), real(rows.u), real(rows.w), real(rows.c)},
                                 rows.k ? rows.k[place] : 0,
                                 rows.a ? rows.a[place] : -1});
}

template <class R>
__device__ inline void store_record(const RowArrays& rows, std::int64_t place, const SoftmaxRecord<R>& record) {
  const auto store = [&](void* array, R value) {
    if (array) static_cast<R*>(array)[place] = value;
  };
  store(rows.m, record.m);
  store(rows.z, record.sums.z);
  store(rows.u, record.sums.u);
  store(rows.w, record.sums.w);
  store(rows.c, record.sums.c);
  if (rows.k) rows.k[place] = record.k;
  if (rows.a) rows.a[place] = record.a;
}

// What the part's unnormalised output is multiplied by, seen from the maximum m. Where it is 0 the output is not to be
// read: there may be none, and 0 times an infinity is not 0.
template <class R>
__device__ inline R share_of(const SoftmaxRecord<R>& part, R m) {
  return part.empty() ? R(0) : std::exp(part.m - m);
}

}  // namespace isentropic::cuda
