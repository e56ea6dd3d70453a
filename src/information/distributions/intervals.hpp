// Intervals that hold equally many values each.
#pragma once

#include <vector>

namespace isentropic::information {

// The number of the interval of every value, 0 ... bins - 1, by rank: equal values share the interval of the first of
// them. By hand: (5, 1, 1, 9) in two: (1, 0, 0, 1).
std::vector<double> equal_mass_intervals(const std::vector<double>& values, int bins);

}  // namespace isentropic::information
