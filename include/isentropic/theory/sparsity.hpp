// How sparse attention can be: closed forms of the sparsity index of weights a = f(s).
//
//   S = E|a| / sqrt(E[a^2])          in [n^-1/2, 1] over n keys; small is sparse, 1 when all |a| are equal
//
// S^2 n is the number of keys that share the mass (`participation`); for weights that sum to one, S^2 n = exp(Renyi-2).
//
// Scores of isotropic Gaussian keys k ~ N(mu, sigma^2 I) under a query q are s ~ N(beta, gamma^2) with beta = q.mu and
// gamma = sigma |q|. As n -> inf, with t = beta / gamma:
//
//   f = exp        S = e^{-gamma^2 / 2}                                              free of beta, no floor
//   f = relu^2     S = M_2(t) / sqrt(M_4(t)),  M_k(t) = E[max(t + e, 0)^k]            t alone; 1/sqrt 6 at t = 0;
//                  S -> sqrt(phi(t) / (6 |t|)) as t -> -inf                           no floor where beta < 0
//   f = identity   S = (sqrt(2/pi) e^{-t^2/2} + t erf(t/sqrt 2)) / sqrt(1 + t^2)      t alone, even; floor sqrt(2/pi)
//
// By hand: exp at gamma = 1: e^{-1/2} = .606531; relu^2 at t = 0: (1/2) / sqrt(3/2) = .408248.
//
// gamma is a standard deviation: >= 0 and finite. gamma = 0 means the limit; where every weight is 0 (relu^2 with
// beta <= 0, identity with beta = 0) that is S = 0, as in the kernels. Error otherwise.
#pragma once

#include <cstdint>
#include <numbers>
#include <span>

#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"
#include "isentropic/score_map.hpp"

namespace isentropic::theory {

// s ~ N(beta, gamma^2).
struct GaussianScores {
  double beta = 0, gamma = 1;
};

ISENTROPIC_API double sparsity_of_exp(GaussianScores scores);
// Relative error below 1e-13 for t >= -52; below t = -54 S is smaller than the smallest double.
ISENTROPIC_API double sparsity_of_relu_squared(GaussianScores scores);
ISENTROPIC_API double sparsity_of_identity(GaussianScores scores);

// relu^2 at beta = 0, and as gamma -> inf for every beta: the infimum over beta >= 0. 1/sqrt 6.
inline constexpr double kReluSquaredSparsityAtZero = 0.40824829046386301637;
// Identity at beta = 0, and as gamma -> inf: its floor. sqrt(2/pi).
inline constexpr double kIdentitySparsityFloor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;

// The minimum S of n keys, n^-1/2: one key has all the mass.
ISENTROPIC_API double sparsity_floor(std::int64_t n);

// ---- Exp truncated after degree p: linear attention over C(d + p, p) features ----
//
// f(s) = sum_{k <= p} s^k / k!, p even (then f > 0), s ~ N(0, gamma^2):
//
//   E f = sum_{j <= p/2} x^j / j!,  x = gamma^2 / 2;   E f^2 = sum_{j <= p} c_{2j} x^j / j!,
//   c_m = sum of the binomials C(m, i) with i <= p and m - i <= p.
//
// It tends to e^{-gamma^2/2} as p grows; as gamma grows, to the floor E|e|^p / sqrt(E e^{2p}), which is
// (p-1)!! / sqrt((2p-1)!!) for even p. By hand: p = 2: 1/sqrt 3.
ISENTROPIC_API double sparsity_of_taylor(int degree, double gamma);
// Any degree >= 1; degree 1 is the identity.
ISENTROPIC_API double taylor_sparsity_floor(int degree);
// C(d + p, p), the monomials of degree p or less in d coordinates: 2145 at d = 64, p = 2. d >= 1, p >= 0.
ISENTROPIC_API double taylor_features(std::int64_t d, int degree);

// ---- Linear attention over features: a = q.k, all products non-negative ----
//
//   S = 1 / sqrt(1 + q'Cq / (q.m)^2)                            m, C: mean and covariance of the keys' features
//   S = 1 / sqrt(1 + (deviation / mean)^2 |q|_2^2 / |q|_1^2)    i.i.d. features, q >= 0
//
// |q|_2 / |q|_1 lies in [d^-1/2, 1]: all coordinates equal, one coordinate alone.
ISENTROPIC_API double sparsity_of_features(std::span<const double> query, std::span<const double> mean,
                                           const information::Table& covariance);
ISENTROPIC_API double sparsity_of_independent_features(std::span<const double> query, double mean, double deviation);

// phi(x) of one Gaussian coordinate, x ~ N(0, sigma^2), sigma > 0. By hand, sigma = 1: relu 1/sqrt(2 pi) = .398942 and
// sqrt(1/2 - 1/(2 pi)) = .583819; exp e^{1/2} and e^{1/2} sqrt(e - 1). deviation/mean does not depend on sigma for relu
// (sqrt(pi - 1)) and grows with it for elu + 1 and for exp. Error for the identity, whose products have both signs.
struct FeatureMoments {
  double mean = 0, deviation = 0;
};
ISENTROPIC_API FeatureMoments gaussian_feature_moments(Feature feature, double sigma = 1);

// ---- Decay: a_j = lambda^(n - j), 0 < lambda <= 1, independent of the keys' content ----
//
//   S^2 = (1 - lambda^n)(1 + lambda) / (n (1 - lambda)(1 + lambda^n)) = tanh(n l/2) / (n tanh(l/2)),  l = -log lambda
//
// and 1 at lambda = 1. S sqrt n -> sqrt((1 + lambda) / (1 - lambda)) as n grows at fixed lambda; with 1 - lambda = c/n
// S -> sqrt((2/c) tanh(c/2)). By hand: lambda = 1/2, n = 2: (3/2) / sqrt(2 5/4) = .948683.
ISENTROPIC_API double sparsity_of_decay(double lambda, std::int64_t n);
// The upper bound obtained by dropping 1 - lambda^n; infinite at lambda = 1.
ISENTROPIC_API double decay_sparsity_bound(double lambda, std::int64_t n);
// The limit of S sqrt n.
ISENTROPIC_API double decay_sparsity_rate(double lambda);
// The limit of S with 1 - lambda = c / n, c >= 0.
ISENTROPIC_API double slow_decay_sparsity(double c);

}  // namespace isentropic::theory
