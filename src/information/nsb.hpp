// The Bayesian estimate of Nemenman, Shafee & Bialek (2002): a mixture of symmetric Dirichlet priors, weighted so that
// the entropy expected before any data is uniform on [0, log K].
//
//   xi(b)      = digamma(K b + 1) - digamma(b + 1)                                expected entropy at concentration b
//   rho(b)     = Gamma(K b) / Gamma(N + K b) prod_i Gamma(n_i + b) / Gamma(b)     evidence
//   S(b)       = digamma(N + K b + 1) - sum_i (n_i + b) / (N + K b) digamma(n_i + b + 1)
//   estimate   = integral S rho dxi / integral rho dxi
#pragma once

#include <cstdint>
#include <vector>

namespace isentropic::information {

// Positive counts, at least one; `cells` is K, at least as many. K = 1 gives 0.
double nsb_entropy(const std::vector<std::int64_t>& counts, double cells);

}  // namespace isentropic::information
