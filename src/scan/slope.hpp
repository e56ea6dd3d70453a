// How entropy grows with the number n of keys a row sees: dH / dlog n by least squares. 1 for a head that looks
// everywhere evenly, 0 for one that looks at a fixed number of keys.
#pragma once

#include <vector>

#include "scan/result.hpp"

namespace isentropic::scan {

// NaN if there are fewer than two lengths, or not an entropy for each.
double entropy_slope(const std::vector<LengthResult>& lengths, const std::vector<double>& entropies);

}  // namespace isentropic::scan
