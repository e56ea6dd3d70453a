// How entropy grows with the keys a row sees, n: dH / dlog n by least squares. 1 for a head that looks everywhere
// evenly, 0 for one that looks at a fixed number of keys.
#pragma once

#include <vector>

#include "scan/result.hpp"

namespace isentropic::scan {

// NaN: fewer than two lengths, or not an entropy for each.
double entropy_slope(const std::vector<LengthResult>& lengths, const std::vector<double>& entropies);

}  // namespace isentropic::scan
