// How to make the error of a mean smaller.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "experiments/tools/estimate.hpp"

namespace isentropic::ledger::contrast {

// x less what moves along with a companion of known mean (a control variate): the same mean, less variance.
inline std::vector<double> controlled(std::span<const double> x, std::span<const double> companion, double known_mean) {
  const double found = experiments::tools::slope(companion, x);
  const double factor = std::isfinite(found) ? found : 0;  // a constant companion tells nothing
  std::vector<double> out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back(x[i] - factor * (companion[i] - known_mean));
  return out;
}

}  // namespace isentropic::ledger::contrast
