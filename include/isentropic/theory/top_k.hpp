// What attention loses when only its k largest weights are kept and rescaled to sum to one.
//
// p over n keys, m the mass of the dropped ones; p' = p / (1 - m) on the kept ones, 0 elsewhere:
//
//   sum_j |p_j - p'_j| = 2 m
//   o - o' = m (mean of the dropped values - mean of the kept values)
//   |o - o'| <= m diam(v) <= 2 m max|v|
//
// By hand: p = (1/2, 1/4, 1/4), k = 1: m = 1/2, distance 1; values 1, -1, -1: o = 0, o' = 1 = 2 m max|v|.
#pragma once

#include <cstdint>
#include <span>

#include "isentropic/export.hpp"

namespace isentropic::theory {

// The mass outside the k largest weights, summed from the smallest up so that no digits are lost when it is tiny.
// 0 when k >= n. p non-negative with sum one within 1e-9, k >= 1; Error otherwise.
ISENTROPIC_API double top_k_missing_mass(std::span<const double> p, std::int64_t k);

inline double top_k_l1_distance(double missing_mass) { return 2 * missing_mass; }
inline double top_k_output_bound(double missing_mass, double largest_value) { return 2 * missing_mass * largest_value; }

}  // namespace isentropic::theory
