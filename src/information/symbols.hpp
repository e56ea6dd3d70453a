// Symbols: samples whose rows are compared for equality alone, and how often each occurs.
#pragma once

#include <cstdint>
#include <vector>

#include "isentropic/information/entropy.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

// Row i is symbol of_row[i], 0 ... distinct - 1, numbered in the lexicographic order of the rows.
struct Symbols {
  std::vector<std::int64_t> of_row;
  std::size_t distinct = 0;

  std::vector<std::int64_t> counts() const;
};

// A table without columns has one symbol.
Symbols symbols_of(const Table& samples);
// The pair as one symbol.
Symbols joined(const Symbols& a, const Symbols& b);

// As entropy_from_counts, with an alphabet that may be too large for an integer.
double entropy_with_alphabet(const std::vector<std::int64_t>& counts, EntropyEstimator estimator, double cells);

// How far James-Stein shrinks p towards uniform, in [0, 1]; `squares` is sum p_i^2.
double shrinkage(double squares, double total, double cells);

// The estimate for pairs of symbols, james_stein on the joint table.
double information_of_symbols(const Symbols& x, const Symbols& y, EntropyEstimator estimator);
// H(x,z) + H(y,z) - H(x,y,z) - H(z).
double information_of_symbols(const Symbols& x, const Symbols& y, const Symbols& z, EntropyEstimator estimator);

}  // namespace isentropic::information
