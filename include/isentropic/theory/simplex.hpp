// The geometry of attention weights: the simplex of a >= 0, sum a = 1, with the entropy as a height over it. Nats.
//
//   H(a) = log n - KL(a || u),   u = (1/n, ..., 1/n)
//
// The Fisher metric E[d_i log p d_j log p] of p(k) depends on how the distribution is parametrised:
//
//   plain         p_k = t_k                            g_ij = [i=j] / a_i
//   homogeneous   p_k = t_k / sum t, at sum t = 1      g_ij = [i=j] / a_i - 1        singular: g a = 0
//   free          p_1 ... p_{n-1}, the last is the rest   g_ij = [i=j] / a_i + 1 / a_n
//   logits        p = softmax(t)                       g_ij = [i=j] a_i - a_i a_j    singular: g 1 = 0
//
// They are all one metric: on directions that preserve the sum (sum t = 0) the first three agree. Its gradient of H is
//
//   a_i (-log a_i - H)           sums to 0: it stays on the simplex
//
// which is also dH/ds_i for a = softmax(s). The Euclidean gradient -log a_i - 1 leaves the simplex. The flow along the
// Fisher gradient is tempering: after time t the weights are softmax(e^-t log a).
//
// By hand: a = (3/4, 1/4): KL to u = log 2 - H = 0.130812; Fisher gradient (-0.20599, 0.20599) = (3/16) log 3 (-1, 1).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::theory {

// KL(a || u) in [0, log n]. Here and below a must be a distribution, as distribution.hpp accepts it.
ISENTROPIC_API double kl_to_uniform(std::span<const double> a);

enum class SimplexCoordinates : std::uint8_t { plain, homogeneous, free, logits };
// [n, n]; [n-1, n-1] for free coordinates. All weights > 0.
ISENTROPIC_API information::Table fisher_metric(std::span<const double> a, SimplexCoordinates coordinates);

// a_i (-log a_i - H): the gradient of H in the Fisher metric, and dH/ds_i. 0 where a_i = 0.
ISENTROPIC_API std::vector<double> natural_entropy_gradient(std::span<const double> a);
// -log a_i - 1: the gradient in the space around the simplex. All weights > 0.
ISENTROPIC_API std::vector<double> euclidean_entropy_gradient(std::span<const double> a);
// The weights after following the flow da/dt = natural gradient for `time` (negative: towards the corner).
ISENTROPIC_API std::vector<double> entropy_flow(std::span<const double> a, double time);

// ---- Near a corner: one key whose score is `gap` above all others, n keys ----

// log sum e^s - max s <= (n - 1) e^-gap. gap >= 0.
ISENTROPIC_API double log_sum_exp_excess_bound(std::int64_t n, double gap);
// |o - v*| <= (1 - a_max) diameter of the values: soft versus hard attention.
ISENTROPIC_API double hard_attention_distance_bound(double peak, double diameter);
// The spectral norm of da/ds is at most 2 (1 - a_max): gradients vanish where the weights saturate, including the
// winner's.
ISENTROPIC_API double softmax_jacobian_bound(double peak);

}  // namespace isentropic::theory
