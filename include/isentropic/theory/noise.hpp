// The effect of noise on attention scores on the output, in closed form.
//
// Scores s_i receive noise eps_i, so the weight of key i is multiplied by Z_i = e^eps_i. With weights a = softmax(s),
// output o = sum_i a_i v_i and noise independent of the values and from key to key,
//
//   o~ = sum_i a_i Z_i v_i / sum_i a_i Z_i
//   E[o~] - o  ~ -r sum_i a_i^2 (v_i - o)                     bias: O(1/n) for flat weights
//   rms(o~ - o) ~ sqrt(r sum_i a_i^2 |v_i - o|^2)             fluctuation: O(n^-1/2) for flat weights
//   r = Var(Z) / E[Z]^2
//
// So robustness depends on sum_i a_i^2 |v_i - o|^2, not on n; both need E e^{2 eps} finite. The mean of the noise
// cancels. What follows is to leading order in r sum_i a_i^2.
//
//   family      density                     E e^{k eps}            finite for      tail index of e^eps
//   Gaussian    N(0, sigma^2)               e^{k^2 sigma^2 / 2}    every k         inf
//   uniform     on [-a, a]                  sinh(k a) / (k a)      every k         inf
//   Laplace     e^{-|x|/b} / 2b             1 / (1 - k^2 b^2)      |k| b < 1       1 / b
//   Gumbel      standard Gumbel / tau       Gamma(1 - k / tau)     k < tau         tau
//
// By hand: Gaussian of sigma 1 has r = e - 1 = 1.71828; with n equal weights and values +-1, rms = sqrt(1.71828 / n).
// Strength 0 (Gumbel: infinity) is no noise: r = 0.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::theory {

enum class NoiseFamily : std::uint8_t { gaussian, uniform, laplace, gumbel };

// The law of the noise on one score.
class ISENTROPIC_API NoiseLaw {
 public:
  // Error unless the parameter is finite and not negative; Gumbel: unless tau > 0.
  static NoiseLaw gaussian(double sigma);
  static NoiseLaw uniform(double half_width);
  static NoiseLaw laplace(double scale);
  static NoiseLaw gumbel(double tau);

  NoiseFamily family() const { return family_; }
  double parameter() const { return parameter_; }  // sigma, a, b or tau

  // E e^{order eps}; +inf where it diverges, the edge included (Laplace b = 1, Gumbel tau = 1 at order 1).
  double exponential_moment(double order = 1) const;
  // r = Var(e^eps) / (E e^eps)^2; +inf if E e^{2 eps} is.
  double variance_ratio() const;
  // P(e^eps > x) decays like x^-index; +inf: faster than any power.
  double tail_index() const;
  // The power p of n in the deviation of flat attention, |o~ - o| ~ n^p:
  //   -1/2 for an index of 2 or more (at 2 exactly with a factor sqrt(log n)),
  //   -(1 - 1/index) between 1 and 2 (Laplace: -(1 - b)), none at 1 or below: nothing averages out.
  std::optional<double> rate_exponent() const;

 private:
  NoiseLaw(NoiseFamily family, double parameter) : family_(family), parameter_(parameter) {}

  NoiseFamily family_;
  double parameter_;
};

struct ISENTROPIC_API NoiseEffect {
  std::vector<double> bias;  // one per coordinate of the values
  double rms = 0;            // sqrt(E|o~ - o|^2)
};

// Bias and rms of o~ for noise with variance ratio r; one row of `values` per weight. Error: weights not a
// distribution, a different number of values, r negative or NaN.
ISENTROPIC_API NoiseEffect noise_effect(std::span<const double> weights, const information::Table& values,
                                        double variance_ratio);
// Keys of the same group (any label) share one draw of noise. Exactly the case above with one key per group: the sum of
// its weights, and the weighted mean of its values. If values are constant within groups of g keys, n/g keys are left.
ISENTROPIC_API NoiseEffect group_noise_effect(std::span<const double> weights, const information::Table& values,
                                              std::span<const std::int64_t> groups, double variance_ratio);
// Noise c v_i + eps_i is correlated with the values and does not cancel: for n -> inf the output moves by
//   sum_i a_i e^{c v_i} v_i / sum_i a_i e^{c v_i} - sum_i a_i v_i.       Equal weights on +-1: tanh(c).
ISENTROPIC_API double value_noise_shift(std::span<const double> weights, std::span<const double> values, double c);

// Two equal weights on -1 and 1 under Gaussian noise: o~ = tanh((eps_1 - eps_2) / 2), its exact rms by quadrature.
// sigma = 1: 0.5231. Further keys of weight 0 change nothing.
ISENTROPIC_API double two_key_gaussian_rms(double sigma);

// E[X/Y] to second order: EX/EY - Cov(X,Y)/EY^2 + Var(Y) EX/EY^3. Homogeneous in X: X -> 10 X gives ten times as much.
struct ISENTROPIC_API RatioMoments {
  double mean_x = 0, mean_y = 1, covariance = 0, variance_y = 0;
};
ISENTROPIC_API double mean_of_ratio(const RatioMoments& moments);

}  // namespace isentropic::theory
