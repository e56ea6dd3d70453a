// Shared by the estimator tests: options that name an estimator, and one bit in nats.
#pragma once

#include <cmath>

#include "isentropic/information/mutual_information.hpp"

namespace isentropic::information {

inline const double kBit = std::log(2);

inline InformationOptions with(InformationEstimator estimator) {
  InformationOptions out;
  out.estimator = estimator;
  return out;
}

}  // namespace isentropic::information
