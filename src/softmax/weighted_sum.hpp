// A record with the sum it normalises, sum_j e^{s_j - m} v_j: merged together so that both are relative to one maximum.
#pragma once

#include <cmath>
#include <cstdint>

#include "isentropic/softmax_record.hpp"

namespace isentropic {

// Merges y into x, with sums of `width` numbers. A part without keys adds nothing, whatever its sum contains.
template <class T>
void merge_weighted_sum(SoftmaxRecord<double>& x, T* x_sum, const SoftmaxRecord<double>& y, const T* y_sum,
                        std::int64_t width) {
  const SoftmaxRecord<double> merged = merge(x, y);
  const auto factor = [&](const SoftmaxRecord<double>& part) {
    return part.empty() ? T(0) : static_cast<T>(std::exp(part.m - merged.m));
  };
  const T x_factor = factor(x), y_factor = factor(y);
  for (std::int64_t c = 0; c < width; ++c) x_sum[c] = x_sum[c] * x_factor + y_sum[c] * y_factor;
  x = merged;
}

}  // namespace isentropic
