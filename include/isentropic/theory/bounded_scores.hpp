// What a softmax can do with scores confined to an interval of width w. Nats.
//
// Cosines divided by a temperature tau have w = 2 / tau; a soft cap c has w = 2 c; any finite set of scores has
// w = max - min. With r = e^w and n keys, whatever the scores are:
//
//   1 / (1 + (n - 1) r)  <=  a_j  <=  1 / (1 + (n - 1) / r)          both attained; looser: r^-1 / n <= a_j <= r / n
//   log n - g(w)  <=  H  <=  log n                                   g(w) = D - 1 - log D,  D = w r / (r - 1)
//
// The weights disperse like 1 / n whatever is learnt (Velickovic, Perivolaropoulos, Barbero & Pascanu 2024, "softmax is
// not enough"), and the entropy stays within g(w) of its ceiling for every n. The floor is attained by scores at the
// two ends of the interval, a fraction x = (D - 1) / (r - 1) of them at the upper end; for finite n the best integer
// number of keys there gives a slightly higher floor.
//
// By hand: tau = 1, w = 2: D = 2.31303529, x = 0.20551319, g = 0.4744746471. Small w: g = w^2 / 8. Large w: g grows
// like w - 1 - log w, so the floor approaches 0 only where log n is well below w.
#pragma once

#include <cstdint>

#include "isentropic/export.hpp"

namespace isentropic::theory {

// w = 2 / tau, tau > 0.
ISENTROPIC_API double cosine_score_range(double tau);

// g(w), w >= 0: the most the entropy can be below log n, for any n.
ISENTROPIC_API double bounded_entropy_gap(double range);
// x, the fraction of keys at the upper end that attains it; 1/2 at w = 0.
ISENTROPIC_API double bounded_top_share(double range);

// The minimum entropy of n keys, and how many of them have the upper score there. n >= 1.
struct BoundedEntropyFloor {
  double entropy = 0;
  std::int64_t top_keys = 1;
};
ISENTROPIC_API BoundedEntropyFloor bounded_entropy_floor(std::int64_t n, double range);

// The largest and the smallest weight that one of n keys can have. n >= 1.
ISENTROPIC_API double largest_bounded_weight(std::int64_t n, double range);
ISENTROPIC_API double smallest_bounded_weight(std::int64_t n, double range);

}  // namespace isentropic::theory
