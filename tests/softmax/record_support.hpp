// Records built key by key, the same sums formed directly in long double, and the allowed difference between them.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "isentropic/softmax_record.hpp"

namespace softmax_test {

using isentropic::SoftmaxRecord;
using Record = SoftmaxRecord<double>;

template <class T>
SoftmaxRecord<T> record_of(const std::vector<T>& scores, std::int64_t first_index = 0) {
  SoftmaxRecord<T> out;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    out = merge(out, isentropic::single_key(scores[j], first_index + static_cast<std::int64_t>(j)));
  }
  return out;
}

// z, u, w, c and the third absolute moment t, straight from their definitions.
struct Sums {
  long double m, z = 0, u = 0, w = 0, t = 0, c = 0;
};

template <class T>
Sums sums_of(const std::vector<T>& scores) {
  Sums out;
  out.m = -std::numeric_limits<long double>::infinity();
  for (T s : scores) out.m = std::max<long double>(out.m, s);
  for (T s : scores) {
    const long double gap = s - out.m;
    const long double e = std::exp(gap);
    if (e == 0) continue;  // the limit of gap^k e^gap
    out.z += e;
    out.u += gap * e;
    out.w += gap * gap * e;
    out.t -= gap * gap * gap * e;
    out.c += e * e;
  }
  return out;
}

// Each merge rebases with r = e^delta (relative error about 1 + |delta| in units of the rounding error eps: one for the
// exponential, |delta| for its rounded argument) and then multiplies and adds non-negative terms, all of one sign: u
// and w never cancel. Over the merges of a key the deltas add up to its gap m - s, so after `depth` merges its terms
// carry a relative error of at most eps (6 depth + 2 gap), and a factor gap turns one moment into the next.
template <class T>
void expect_record_near(const SoftmaxRecord<T>& record, const Sums& exact, int depth) {
  const long double eps = std::numeric_limits<T>::epsilon();
  const long double per_merge = 6.0L * depth;
  EXPECT_EQ(record.m, static_cast<T>(exact.m));
  // Terms near the bottom of the type's range lose relative accuracy: allow an absolute error per merge.
  const long double floor = depth * static_cast<long double>(std::numeric_limits<T>::min());
  EXPECT_LE(std::abs(record.sums.z - exact.z), eps * (per_merge * exact.z + 2 * std::abs(exact.u)) + floor);
  EXPECT_LE(std::abs(record.sums.u - exact.u), eps * (per_merge * std::abs(exact.u) + 2 * exact.w) + floor * 1e5L);
  EXPECT_LE(std::abs(record.sums.w - exact.w), eps * (per_merge * exact.w + 2 * exact.t) + floor * 1e10L);
  EXPECT_LE(std::abs(record.sums.c - exact.c), eps * (2 * per_merge * exact.c + 4 * std::abs(exact.u)) + floor);
}

template <class T>
void expect_same_bits(const SoftmaxRecord<T>& x, const SoftmaxRecord<T>& y) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  EXPECT_EQ(std::bit_cast<Bits>(x.m), std::bit_cast<Bits>(y.m));
  EXPECT_EQ(std::bit_cast<Bits>(x.sums.z), std::bit_cast<Bits>(y.sums.z));
  EXPECT_EQ(std::bit_cast<Bits>(x.sums.u), std::bit_cast<Bits>(y.sums.u));
  EXPECT_EQ(std::bit_cast<Bits>(x.sums.w), std::bit_cast<Bits>(y.sums.w));
  EXPECT_EQ(std::bit_cast<Bits>(x.sums.c), std::bit_cast<Bits>(y.sums.c));
  EXPECT_EQ(x.k, y.k);
  EXPECT_EQ(x.a, y.a);
}

}  // namespace softmax_test
