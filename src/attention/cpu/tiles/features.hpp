// Feature maps phi of linear attention, element by element, and their derivatives.
#pragma once

#include <cmath>

#include "isentropic/score_map.hpp"

namespace isentropic {

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
