// Splits a row of numbers into stretches of nearly equal length: number i of n is in stretch i * count / n.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "isentropic/host_device.hpp"

namespace isentropic::scan {

// The beginning of a stretch; for stretch `count` it is n.
ISENTROPIC_HOST_DEVICE inline std::size_t stretch_begin(std::size_t stretch, std::size_t n, std::size_t count) {
  return (stretch * n + count - 1) / count;
}

// The sum of each of `count` stretches; the numbers themselves if there are at most `count`.
template <class T>
std::vector<double> stretch_sums(std::span<const T> values, std::size_t count) {
  count = std::min(count, values.size());
  std::vector<double> out(count);
  for (std::size_t s = 0; s < count; ++s)
    for (std::size_t i = stretch_begin(s, values.size(), count); i < stretch_begin(s + 1, values.size(), count); ++i)
      out[s] += values[i];
  return out;
}

// The means of the stretches.
template <class T>
std::vector<double> stretch_means(std::span<const T> values, std::size_t count) {
  std::vector<double> out = stretch_sums(values, count);
  for (std::size_t s = 0; s < out.size(); ++s)
    out[s] /= static_cast<double>(stretch_begin(s + 1, values.size(), out.size()) -
                                  stretch_begin(s, values.size(), out.size()));
  return out;
}

}  // namespace isentropic::scan
