// Records stored in arrays, and the factor of a part's output in the merged row.
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// NaN sums make the maximum NaN: with only NaN scores there is no maximum, and -inf would mean that no key counts.
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

// The factor of the part's unnormalised output relative to the maximum m. If it is 0, the output must not be read:
// there may be none, and 0 times an infinity is not 0.
template <class R>
__device__ inline R share_of(const SoftmaxRecord<R>& part, R m) {
  return part.empty() ? R(0) : std::exp(part.m - m);
}

}  // namespace isentropic::cuda
