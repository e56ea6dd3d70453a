// Elementwise feature maps phi of linear attention, and their derivatives.
#pragma once

#include <cmath>

#include "isentropic/attention.hpp"

namespace isentropic {

// The factor on the keys of batch entry b before phi: all of its rows share its number of keys.
inline double key_factor(const AttentionProblem& problem, std::int64_t b) {
  const std::vector<std::int64_t>& lengths = problem.mask.lengths;
  return problem.map.key_factor(lengths.empty() ? problem.key.shape[2] : lengths[static_cast<std::size_t>(b)]);
}

template <class T>
inline T feature_value(Feature feature, T x) {
  switch (feature) {
    case Feature::elu_plus_one:
      return x > 0 ? x + 1 : std::exp(x);
    case Feature::relu:
      return x > 0 ? x : T(0);
    case Feature::exp:
      return std::exp(x);
    case Feature::identity:
      break;
  }
  return x;
}

// phi'(x), from x.
template <class T>
inline T feature_derivative(Feature feature, T x) {
  switch (feature) {
    case Feature::elu_plus_one:
      return x > 0 ? T(1) : std::exp(x);
    case Feature::relu:
      return x > 0 ? T(1) : T(0);
    case Feature::exp:
      return std::exp(x);
    case Feature::identity:
      break;
  }
  return T(1);
}

}  // namespace isentropic
