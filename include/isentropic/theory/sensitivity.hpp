// How far a change of the scores can move attention: universal bounds, and norms at given weights.
//
// Scores s become s + delta; range = max_i delta_i - min_i delta_i (<= 2 |delta|_inf); a = softmax(s).
//
//   |softmax(s + delta) - softmax(s)|_1 <= 2 tanh(range / 4) <= |delta|_inf       the constant 1 is sharp
//   |o(s + delta) - o(s)| <= diam(V) tanh(range / 4)                              diam(V) = max_ij |v_i - v_j|
//   |softmax(s + delta) - softmax(s)|_2 <= |delta|_2 / 2                          1/2 is sharp
//
// Locally, with J = diag(a) - a a^T (weights) and rows a_i (v_i - o) (output):
//
//   inf -> 1 norm of J   = max over sets of keys of 4 P (1 - P), P the mass of the set; 1 when a set has mass 1/2
//   2 -> 2 norm of J     <= 1/2; about 1/n for n equal weights
//
// By hand: a = (1/2, 1/2): both norms at their maximum, 1 and 1/2. a = (0.9, 0.1): 0.36 and 0.18.
#pragma once

#include <span>

#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::theory {

// max - min; 0 when empty.
ISENTROPIC_API double range_of(std::span<const double> change);
// The greatest distance between two rows; 0 for fewer than two.
ISENTROPIC_API double diameter(const information::Table& values);

// 2 tanh(range / 4): the most the weights can change in l1.
ISENTROPIC_API double weights_change_bound(double range);
// diam tanh(range / 4): the most the output can change.
ISENTROPIC_API double output_change_bound(double diameter, double range);
// The l2 Lipschitz constant of softmax.
inline constexpr double kSoftmaxEuclideanConstant = 0.5;

// The inf -> 1 norm of J, exact, from the sums of all subsets (meet in the middle). Zero weights cost nothing; Error if
// more than kMostSubsetKeys are non-zero, or if they are not a distribution.
inline constexpr std::size_t kMostSubsetKeys = 36;
ISENTROPIC_API double softmax_infinity_norm(std::span<const double> weights);
// The 2 -> 2 norm of J: its greatest eigenvalue, between a_max (1 - a_max) and 1/2. Error: not a distribution.
ISENTROPIC_API double softmax_euclidean_norm(std::span<const double> weights);
// The 2 -> 2 norm of the output's Jacobian, the d_v x n matrix with columns a_i (v_i - o).
ISENTROPIC_API double output_euclidean_norm(std::span<const double> weights, const information::Table& values);

}  // namespace isentropic::theory
