// A row of numbers cut into stretches of equal length, as nearly as possible: number i of n is in stretch
// i * count / n.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "isentropic/host_device.hpp"

namespace isentropic::scan {

// Where a stretch begins; that of stretch `count` is n.
ISENTROPIC_HOST_DEVICE inline std::size_t stretch_begin(std::size_t stretch, std::size_t n, std::size_t count) {
  return (stretch * n + count - 1) / count;
}

// The sum of each of `count` stretches; the numbers themselves where there are no more.
template <class T>
std::vector<double> stretch_sums(std::span<const T> values, std::size_t count) {
  count = std::min(count, values.size());
  std::vector<double> out(count);
  for (std::size_t s = 0; s < count; ++s)
    for (std::size_t i = stretch_begin(s, values.size(), count); i < stretch_begin(s + 1, values.size(), count); ++i)
      out[s] += values[i];
  return out;
}

// Their means.
template <class T>
std::vector<double> stretch_means(std::span<const T> values, std::size_t count) {
  std::vector<double> out = stretch_sums(values, count);
  for (std::size_t s = 0; s < out.size(); ++s)
    out[s] /= static_cast<double>(stretch_begin(s + 1, values.size(), out.size()) -
                                  stretch_begin(s, values.size(), out.size()));
  return out;
}

}  // namespace isentropic::scan
