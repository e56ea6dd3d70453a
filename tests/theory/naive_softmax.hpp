// Softmax and its entropy written out, for tests that must not rely on the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace isentropic::theory::naive {

inline std::vector<double> softmax(std::span<const double> scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  std::vector<double> out;
  double sum = 0;
  for (double s : scores) sum += out.emplace_back(std::exp(s - largest));
  for (double& x : out) x /= sum;
  return out;
}

inline double entropy_of_weights(std::span<const double> a) {
  double sum = 0;
  for (double x : a)
    if (x > 0) sum -= x * std::log(x);
  return sum;
}

inline double entropy(std::span<const double> scores) { return entropy_of_weights(softmax(scores)); }

}  // namespace isentropic::theory::naive
