// A row of numbers cut into stretches of equal length, as nearly as possible.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace isentropic::scan {

// The sum of each of `count` stretches; the numbers themselves where there are no more.
template <class T>
std::vector<double> stretch_sums(std::span<const T> values, std::size_t count) {
  count = std::min(count, values.size());
  std::vector<double> out(count);
  for (std::size_t i = 0; i < values.size(); ++i) out[i * count / values.size()] += values[i];
  return out;
}

// Their means.
template <class T>
std::vector<double> stretch_means(std::span<const T> values, std::size_t count) {
  std::vector<double> out = stretch_sums(values, count);
  std::vector<double> sizes(out.size());
  for (std::size_t i = 0; i < values.size(); ++i) ++sizes[i * out.size() / values.size()];
  for (std::size_t i = 0; i < out.size(); ++i) out[i] /= sizes[i];
  return out;
}

}  // namespace isentropic::scan
