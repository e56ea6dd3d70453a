// Discrete distributions whose probabilities are known. Nats throughout; to_bits converts.
//
//   H(p)      = -sum_i p_i log p_i                       0 log 0 = 0
//   KL(p||q)  = sum_i p_i log(p_i / q_i)                 +inf where q_i = 0 < p_i
//   JS        = H(sum_k w_k p_k) - sum_k w_k H(p_k)      Jensen-Shannon; in [0, log of the number of distributions]
//   H_a(p)    = log(sum_i p_i^a) / (1 - a)               Renyi; a = 0: log of the support; 1: Shannon; inf: -log max p
//   I(X;Y)    = KL(p(x,y) || p(x) p(y))
//   I(X;Y|Z)  = sum_z p(z) I(X;Y | Z = z)
//
// Values that rounding takes slightly outside their range (1e-16 below zero, say) are returned as they are: nothing is
// clamped. By hand: H(1/2, 1/4, 1/4) = 1.5 bits = 1.03972 nats; diag(1/2, 1/2) has I = 1 bit.
//
// Probabilities must be non-negative, finite and sum to one within 1e-9; Error otherwise.
#pragma once

#include <span>
#include <vector>

#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

ISENTROPIC_API double to_bits(double nats);

ISENTROPIC_API double entropy(std::span<const double> p);
ISENTROPIC_API double kl_divergence(std::span<const double> p, std::span<const double> q);
// One distribution per row; equal weights if `weights` is empty.
ISENTROPIC_API double jensen_shannon(const Table& distributions, std::span<const double> weights = {});
ISENTROPIC_API double renyi_entropy(std::span<const double> p, double order);

// ---- Joint distributions p(x, y), x along the rows ----

ISENTROPIC_API std::vector<double> row_marginal(const Table& joint);     // p(x)
ISENTROPIC_API std::vector<double> column_marginal(const Table& joint);  // p(y)
ISENTROPIC_API double mutual_information(const Table& joint);
ISENTROPIC_API double conditional_entropy(const Table& joint);  // H(Y|X), from the conditional distributions

// ---- Joint distributions of several variables ----

// p over a grid: the probability of (x_0, x_1, ...) is at its row-major index in sizes [n_0, n_1, ...].
struct ISENTROPIC_API Joint {
  std::vector<std::size_t> sizes;
  std::vector<double> p;

  // The marginal distribution of some variables, in the order given.
  Joint marginal(std::span<const std::size_t> variables) const;
};

using Variables = std::vector<std::size_t>;

ISENTROPIC_API double entropy(const Joint& joint, const Variables& variables);
// H(A | given).
ISENTROPIC_API double conditional_entropy(const Joint& joint, const Variables& of, const Variables& given);
// I(A; B | given); sets of variables that may not overlap `given`.
ISENTROPIC_API double mutual_information(const Joint& joint, const Variables& a, const Variables& b,
                                         const Variables& given = {});
// I(A; B; C; ...) = -sum over non-empty subsets T of (-1)^|T| H(T), each member one group of variables.
// Two groups: I(A;B). Three: I(A;B) - I(A;B|C): positive where redundancy dominates, negative for synergy (XOR: -1
// bit).
ISENTROPIC_API double co_information(const Joint& joint, const std::vector<Variables>& groups);
// TC = sum_t H(x_t) - H(x) = sum_{t>=2} I(x_t; x_{<t}).
ISENTROPIC_API double total_correlation(const Joint& joint);
// DTC = H(x) - sum_t H(x_t | the others). TC + DTC = sum_t I(x_t; the others).
ISENTROPIC_API double dual_total_correlation(const Joint& joint);

}  // namespace isentropic::information
