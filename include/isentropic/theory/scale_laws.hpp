// What a scale law does to the entropy of random keys as the context grows, computed without drawing any keys.
//
// Random keys: directions independent of the query's, norms sqrt d, so s = d cos(theta). Every law of
// isentropic/scale.hpp gives lambda(n, d), and random_scores.hpp gives the exact E H at that lambda. The slope
// dH/dlog n (least squares over the lengths) summarises a law: 1 when attention spreads over all keys, 0 when H is held
// constant.
//
//   1/sqrt d               slope near 1 at every d
//   log n/d                0.71, 0.88, 0.97 at d = 16, 64, 256 over n = 2^6 ... 2^17
//   kappa log n/d          slope 0 at a kappa that depends on d and the range (5.2: d = 64, 2^6 ... 2^17);
//                          see invariant_kappa
//
// A match. One planted key with score lambda d (cosine 1) among n spread-out ones has the probability
//
//   p = 1/(1 + exp(log n + v/2 - a)),   v the variance of the other logits, a the planted logit,
//
// so log n/d gives 1/(1 + e^{(log n)^2/2d}) < 1/2, and kappa > 1 keeps it while (kappa - 1) log n > v/2.
//
// Which law holds H follows from the upper tail of the scores. Nats; lengths are at least 2.
// By hand: planted_probability at n = 1024, d = 64 under log n/d is 0.407.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "isentropic/export.hpp"
#include "isentropic/scale.hpp"

namespace isentropic::theory {

// lambda of a query that sees n keys and is at the position of the last. Error for per_row and target_entropy.
ISENTROPIC_API double law_lambda(const Scale& scale, std::int64_t n, std::int64_t d);
// E H of random keys; for a target entropy, min(target, log n). Error for per_row.
ISENTROPIC_API double law_entropy(const Scale& scale, std::int64_t n, std::int64_t d);
// Least-squares dH/dlog n over at least two lengths.
ISENTROPIC_API double law_slope(const Scale& scale, std::span<const std::int64_t> lengths, std::int64_t d);

// The smallest kappa in (0.5, most) at which kappa log n/d has slope 0 over these lengths; none if the slope stays
// positive (small d: too few keys near the pole of the sphere).
ISENTROPIC_API std::optional<double> invariant_kappa(std::span<const std::int64_t> lengths, std::int64_t d,
                                                     double most = 20);

// A law fitted to lambda*(n), the scale that holds H exactly.
struct KappaFit {
  double kappa = 0;           // least squares of lambda* d on log n, through the origin
  double relative_error = 0;  // rms of the fit over the mean of lambda*
  double exponent = 0;        // p of lambda* ~ (log n)^p
};
ISENTROPIC_API KappaFit fit_kappa(std::span<const std::int64_t> lengths, std::int64_t d, double entropy);

// The formula above; `others_variance` is that of the logits of the other n keys.
ISENTROPIC_API double planted_probability(double log_n, double planted_logit, double others_variance);
// The same for cosine `match` in dimension d at scale lambda: planted logit lambda d match, variance lambda^2 d.
ISENTROPIC_API double needle_probability(double log_n, double d, double lambda, double match = 1);

// ---- Tails ----

enum class ScoreTail : std::uint8_t {
  planted_match,  // the maximum is a match whose gap to the rest does not depend on n
  gaussian,
  exponential,
  bounded  // P(s_max - s < x) ~ x^k at the edge: uniform k = 1, cosine in R^d k = (d - 1)/2
};

// Up to a constant, the lambda(n) that holds the entropy: log n; sqrt(log n); 1; n^{1/k}.
ISENTROPIC_API double tail_growth(ScoreTail tail, double log_n, double edge_exponent = 1);
// Gaussian scores, spread phase: lambda* sigma = sqrt(2 (log n - H)), whose local power of log n is
// log n/(2 (log n - H)): 1 at log n = 2 H, 1/2 far beyond. This is why log n fits well over a finite range.
ISENTROPIC_API double gaussian_local_exponent(double log_n, double entropy);

}  // namespace isentropic::theory
