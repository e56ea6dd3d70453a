// Covariances and their determinants.
#pragma once

#include "isentropic/information/table.hpp"

namespace isentropic::information {

// Divisor N - 1; needs two rows.
Table covariance_of(const Table& samples);

// log det of a symmetric non-negative matrix; -inf if it is singular to working precision, NaN if it has a negative
// eigenvalue. Decided on the correlation matrix, so units do not matter.
double log_determinant(const Table& covariance);

// The diagonal block of columns [first, first + count).
Table block(const Table& covariance, std::size_t first, std::size_t count);

// I(x; y | z) for a covariance whose columns are those of x, then y, then z.
double gaussian_information(const Table& covariance, std::size_t x, std::size_t y, std::size_t z);
// The same from samples, all with the same number of rows; z may have no columns.
double gaussian_information(const Table& x, const Table& y, const Table& z);

}  // namespace isentropic::information
