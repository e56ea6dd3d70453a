// Entropies and information of symbols, with any estimator.
#pragma once

#include <cstdint>
#include <vector>

#include "information/distributions/symbols.hpp"
#include "isentropic/information/entropy.hpp"

namespace isentropic::information {

// Like entropy_from_counts, for alphabets that may be too large for an integer.
double entropy_with_alphabet(const std::vector<std::int64_t>& counts, EntropyEstimator estimator, double cells);

// How far James-Stein shrinks p towards uniform, in [0, 1]; `squares` is sum p_i^2.
double shrinkage(double squares, double total, double cells);

// The estimate for pairs of symbols; james_stein works on the joint table.
double information_of_symbols(const Symbols& x, const Symbols& y, EntropyEstimator estimator);
// H(x,z) + H(y,z) - H(x,y,z) - H(z).
double information_of_symbols(const Symbols& x, const Symbols& y, const Symbols& z, EntropyEstimator estimator);

}  // namespace isentropic::information
