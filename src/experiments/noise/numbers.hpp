// Numbers as tables and page print them.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "experiments/tools/estimate.hpp"

namespace isentropic::experiments::noise {

// Fixed-point; an infinite closed form predicts nothing, because the change itself is bounded.
inline std::string number(double x, int digits) {
  return std::isfinite(x) ? fmt::format("{:.{}f}", x, digits) : "none";
}

inline std::string with_error(const tools::Estimate& x, int digits) {
  return fmt::format("{} ± {}", number(x.mean, digits), number(x.error, digits));
}

}  // namespace isentropic::experiments::noise
