// Gaussian scores in the limit of many keys: the random energy model (B. Derrida, Phys. Rev. B 24, 1981).
//
// n independent scores of standard deviation sigma under softmax(lambda s); spread b = lambda sigma:
//
//   spread, b < sqrt(2 log n):  H = log n - b^2/2
//   frozen, b > sqrt(2 log n):  H = psi(1) - psi(1 - m),   m = sqrt(2 log n)/b      (psi: digamma)
//
// So with a fixed b, H grows with log n; b = c sqrt(2 log n) gives (1 - c^2) log n for c < 1 and a constant for c > 1.
// These are leading terms: close to the transition the frozen value diverges while the true H is about sqrt(log n), and
// convergence to the frozen value is slow (at m = 1/2: 1.386 against 1.09 at n = 131072). random_scores.hpp has the
// exact expectation at finite n.
//
// n enters as log n > 0. Nats. By hand: n = 1024, b = 1: 6.931 - 0.5; m = 1/2: 2 log 2 = 1.386.
#pragma once

#include <cstdint>

#include "isentropic/export.hpp"

namespace isentropic::theory {

enum class Phase : std::uint8_t { spread, frozen };

// sqrt(2 log n), the spread at which the top keys take over.
ISENTROPIC_API double freezing_spread(double log_n);
ISENTROPIC_API Phase phase(double log_n, double spread);
ISENTROPIC_API double random_energy_entropy(double log_n, double spread);

// c > 1 such that spread = c sqrt(2 log n) holds H at `entropy` > 0: psi(1) - psi(1 - 1/c) = entropy.
// By hand: entropy 2 log 2 gives c = 2.
ISENTROPIC_API double frozen_coefficient(double entropy);

// ---- The largest of n standard Gaussian scores ----

// Mean: r - (log log n + log 4 pi)/(2 r) + 0.5772.../r with r = sqrt(2 log n); n > 2. The leading term alone is 9%
// too large at n = 10^5.
ISENTROPIC_API double expected_maximum(double log_n);

// (max - location)/scale tends to a standard Gumbel variable: location = quantile 1 - 1/n, scale = 1/(n density there).
struct GumbelLimit {
  double location = 0, scale = 0;
};
ISENTROPIC_API GumbelLimit maximum_limit(double n);

// ---- Random directions: s = d cos(theta), d large ----

// The entropy loss per dimension in the spread phase: H = log n - d kl(lambda),
// kl = -log(1 - c^2)/2, c = (sqrt(1 + 4 lambda^2) - 1)/(2 lambda), the cosine that dominates. lambda^2/2 for small
// lambda, (log lambda)/2 for large.
ISENTROPIC_API double cosine_divergence(double lambda);
// d log kl / d log lambda: 2 for small lambda, 1.15 at 1, decreasing to 0.
ISENTROPIC_API double cosine_divergence_exponent(double lambda);
ISENTROPIC_API double cosine_saddle_entropy(double log_n, double d, double lambda);
// The lambda at which cosine_saddle_entropy is `entropy` < log_n.
ISENTROPIC_API double cosine_saddle_scale(double log_n, double d, double entropy);

}  // namespace isentropic::theory
