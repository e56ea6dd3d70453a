// Reduces the error of a mean.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "experiments/tools/estimate.hpp"

namespace isentropic::ledger::contrast {

// Subtracts from x its regression on a companion with known mean (a control variate): the same mean, less variance.
inline std::vector<double> controlled(std::span<const double> x, std::span<const double> companion, double known_mean) {
  const double found = experiments::tools::slope(companion, x);
  const double factor = std::isfinite(found) ? found : 0;  // a constant companion is no help
  std::vector<double> out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back(x[i] - factor * (companion[i] - known_mean));
  return out;
}

}  // namespace isentropic::ledger::contrast
