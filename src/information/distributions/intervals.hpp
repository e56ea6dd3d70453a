// Bins with equally many values each.
#pragma once

#include <vector>

namespace isentropic::information {

// The bin of every value, 0 ... bins - 1, by rank: equal values share the bin of the first of them.
// By hand: (5, 1, 1, 9) in two bins: (1, 0, 0, 1).
std::vector<double> equal_mass_intervals(const std::vector<double>& values, int bins);

}  // namespace isentropic::information
