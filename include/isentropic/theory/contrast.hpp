// Learning by contrast in closed form: noise-contrastive estimation (NCE), InfoNCE, their gradients and limits. Nats.
//
// NCE (Gutmann & Hyvarinen 2012) distinguishes one datum from k draws of a noise law n; the model p need not be
// normalised:
//
//   P(datum | x) = p / (p + k n)                                             prior odds 1 : k
//   L = -E_d log[p / (p + k n)] - k E_n log[k n / (p + k n)]                 d: the law of the data
//   dL / dlog p_x = -k n_x / (p_x + k n_x) (d_x - p_x)                       0 at p = d, for every k
//   L = log k + 1 + KL(d||p) - KL(d||n) + c / k + O(1/k^2)                   p normalised,
//       c = sum_x d_x p_x / n_x - 1/2 sum_x p_x^2 / n_x
//   N Var = (A - (1 + 1/k) B^2) / A^2,  A = E_p[w g^2],  B = E_p[w g],  w = k n / (p + k n)
//       of one parameter a from N data and k N noise draws, g = dlog p / da; k = inf: 1 / Fisher information
//
// InfoNCE (van den Oord et al. 2018) picks the positive + out of N candidates, with scores s_j = q.k_j / tau:
//
//   L = log sum_j e^{s_j} - s_+,   P = softmax(s)
//   dL / dq = (E_P[k] - k_+) / tau,   dL / dk_j = (P_j - [j = +]) q / tau    the latter add up to 0
//   log N - L -> E[f] - E_y log E_{p(x)} e^f  =  I - E_y KL(p(x|y) || p_f(x|y))   for a fixed critic f as N grows,
//       p_f(x|y) = p(x) e^{f(x,y)} / E_{p(x)} e^f: the limit is I only for f = PMI + c(y)
//
// By hand: d = p = n and k = 1 give L = 2 log 2 and the gradient 0; a critic that is 0 everywhere has the limit 0.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::theory {

// ---- NCE. `data` and `noise` are distributions, `noise` without zeros; `model` is positive; k > 0. ----

ISENTROPIC_API double nce_posterior(double model, double noise, double noise_per_datum);
ISENTROPIC_API double nce_loss(std::span<const double> data, std::span<const double> model,
                               std::span<const double> noise, double noise_per_datum);
// dL / dlog p_x, for each x separately.
ISENTROPIC_API std::vector<double> nce_gradient(std::span<const double> data, std::span<const double> model,
                                                std::span<const double> noise, double noise_per_datum);

// L = log k + constant + first_order / k + O(1/k^2), for a normalised model.
struct NceExpansion {
  double constant = 0;     // 1 + KL(d||p) - KL(d||n)
  double first_order = 0;  // c
};
ISENTROPIC_API NceExpansion nce_expansion(std::span<const double> data, std::span<const double> model,
                                          std::span<const double> noise);

// N Var of the estimated parameter if the model is correct; `score` is dlog p_x / da, with mean 0 under `data`.
// k = +inf is maximum likelihood.
ISENTROPIC_API double nce_variance(std::span<const double> data, std::span<const double> score,
                                   std::span<const double> noise, double noise_per_datum);

// ---- InfoNCE ----

struct ContrastGradients {
  std::vector<double> query;  // [d]
  information::Table key;     // [N, d]
};
// temperature > 0, positive < keys.rows.
ISENTROPIC_API ContrastGradients contrast_gradients(std::span<const double> query, const information::Table& keys,
                                                    std::size_t positive, double temperature);

// |dL/dq| for a unit query and unit keys with the given cosines to it, whose components perpendicular to q are mutually
// orthogonal. For independent random perpendicular components it is the root mean square.
ISENTROPIC_API double contrast_gradient_norm(std::span<const double> cosines, std::size_t positive, double temperature);

// The limit of log N - L for many candidates. Anchors along the rows of both tables: p(y, x) and f(y, x).
ISENTROPIC_API double info_nce_limit(const information::Table& joint, const information::Table& critic);
// For standard normal pairs of correlation rho, per coordinate, with critic f = cross x y + square x^2. -inf for
// square >= 1/2. cross = rho / (1 - rho^2), square = -rho cross / 2 is the PMI: -log(1 - rho^2) / 2.
ISENTROPIC_API double gaussian_info_nce_limit(double rho, double cross, double square);

// ---- Softmax at high temperature ----

// softmax(s / tau)_j = (1 + c_j / tau + (c_j^2 - mean c^2) / (2 tau^2)) / n + O(tau^-3), c = s - mean s.
// order 1 omits the last term.
ISENTROPIC_API std::vector<double> high_temperature_softmax(std::span<const double> scores, double temperature,
                                                            int order = 2);

}  // namespace isentropic::theory
