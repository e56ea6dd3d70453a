// Sparsity indices evaluated without cancellation, using recurrences, logarithms and series where formulas lose digits.
#include "isentropic/theory/sparsity.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/checks.hpp"

namespace isentropic::theory {
namespace {

using information::Table;

constexpr double kPhiAtZero = std::numbers::inv_sqrtpi / std::numbers::sqrt2;  // 1/sqrt(2 pi)

void require_scores(GaussianScores scores) {
  require_finite("beta", scores.beta);
  require_non_negative("gamma", scores.gamma);
}

// The ratios r_k = M_k / M_{k-1} of the truncated moments for t < 0, with M_{-1} = phi(t). Their recurrence
// M_{k+1} = t M_k + k M_{k-1} loses all digits upwards, where M is its decaying solution; downwards it becomes
// r_k = k / (|t| + r_{k+1}) (k = 0: 1 / (|t| + r_1), Mills' ratio) and forgets its starting value.
std::array<double, 5> moment_ratios(double distance) {
  constexpr int kStart = 400;  // at |t| = 1 the starting value is damped to e^-56
  double ratio = std::sqrt(static_cast<double>(kStart));
  std::array<double, 5> out{};
  for (int k = kStart; k >= 0; --k) {
    ratio = std::max(k, 1) / (distance + ratio);
    if (k < 5) out[static_cast<std::size_t>(k)] = ratio;
  }
  return out;
}

// M_2 / sqrt(M_4) from the ratios: M_2 = phi r0 r1 r2, M_4 = M_2 r3 r4.
double relu_squared_below(double t) {
  if (t < -60) return 0;  // e^{-t^2/4} underflows; far below, products of the ratios would be 0/0
  const auto r = moment_ratios(-t);
  const double root_phi = std::exp(-t * t / 4) * std::sqrt(kPhiAtZero);
  return root_phi * std::sqrt(r[0] * r[1] * r[2] / (r[3] * r[4]));
}

// The recurrence written out; its terms have one sign for t >= 0, and little is lost down to t = -1.
double relu_squared_above(double t) {
  const double below = std::erfc(-t / std::numbers::sqrt2) / 2;
  const double phi = std::exp(-t * t / 2) * kPhiAtZero;
  const double t2 = t * t;
  return ((t2 + 1) * below + t * phi) / std::sqrt((t2 * t2 + 6 * t2 + 3) * below + t * (t2 + 5) * phi);
}

// No key is truncated any more: moments of t + e in units of t.
double relu_squared_far_above(double t) {
  const double u = 1 / (t * t);
  return (1 + u) / std::sqrt(1 + u * (6 + 3 * u));
}

double log_sum_exp(const std::vector<double>& terms) {
  const double most = *std::max_element(terms.begin(), terms.end());
  double sum = 0;
  for (const double x : terms) sum += std::exp(x - most);
  return most + std::log(sum);
}

// log of the sum of C(m, i) over max(0, m - p) <= i <= min(m, p).
double log_kept_binomials(int m, int p) {
  std::vector<double> terms;
  for (int i = std::max(0, m - p); i <= std::min(m, p); ++i)
    terms.push_back(std::lgamma(m + 1.0) - std::lgamma(i + 1.0) - std::lgamma(m - i + 1.0));
  return log_sum_exp(terms);
}

// e^{t^2/2} P(e > t) for t > 0: Mills' ratio times phi(0), which neither overflows nor vanishes.
double scaled_tail(double t) {
  if (t < 1) return std::exp(t * t / 2) * std::erfc(t / std::numbers::sqrt2) / 2;
  return moment_ratios(t)[0] * kPhiAtZero;
}

// From E phi and E[phi^2].
FeatureMoments moments(double mean, double square) { return {mean, std::sqrt(square - mean * mean)}; }

double require_decay(double lambda, std::int64_t n) {
  require(lambda > 0 && lambda <= 1, "lambda", lambda, "a number in (0, 1]");
  require_at_least("n", n, 1);
  return std::abs(std::log1p(lambda - 1));  // never -0, which would make the bound -inf
}

}  // namespace

double sparsity_of_exp(GaussianScores scores) {
  require_scores(scores);
  return std::exp(-scores.gamma * scores.gamma / 2);
}

double sparsity_of_relu_squared(GaussianScores scores) {
  require_scores(scores);
  if (scores.gamma == 0) return scores.beta > 0 ? 1 : 0;
  const double t = scores.beta / scores.gamma;
  if (t < -1) return relu_squared_below(t);
  return t < 40 ? relu_squared_above(t) : relu_squared_far_above(t);
}

double sparsity_of_identity(GaussianScores scores) {
  require_scores(scores);
  if (scores.gamma == 0) return scores.beta != 0 ? 1 : 0;
  const double t = std::abs(scores.beta / scores.gamma);
  if (t > 1e8) return 1;  // 1 - 1/(2 t^2)
  return (kIdentitySparsityFloor * std::exp(-t * t / 2) + t * std::erf(t / std::numbers::sqrt2)) / std::hypot(1, t);
}

double sparsity_floor(std::int64_t n) {
  require_at_least("n", n, 1);
  return 1 / std::sqrt(static_cast<double>(n));
}

double sparsity_of_taylor(int degree, double gamma) {
  require(degree >= 0 && degree % 2 == 0, "degree", std::to_string(degree), "an even number >= 0");
  require_scores({0, gamma});
  if (gamma == 0 || degree == 0) return 1;
  // In logarithms, because gamma^(2p) overflows long before the quotient converges.
  const double log_x = std::log(gamma) * 2 - std::numbers::ln2;
  std::vector<double> mean, square;
  for (int j = 0; j <= degree / 2; ++j) mean.push_back(j * log_x - std::lgamma(j + 1.0));
  for (int j = 0; j <= degree; ++j)
    square.push_back(j * log_x - std::lgamma(j + 1.0) + log_kept_binomials(2 * j, degree));
  return std::exp(log_sum_exp(mean) - log_sum_exp(square) / 2);
}

double taylor_sparsity_floor(int degree) {
  require_at_least("degree", degree, 1);
  // E|e|^q = 2^(q/2) Gamma((q+1)/2) / sqrt(pi); the powers of two cancel.
  const double half_log_pi = std::log(std::numbers::pi) / 2;
  return std::exp(std::lgamma((degree + 1) / 2.0) - half_log_pi - (std::lgamma(degree + 0.5) - half_log_pi) / 2);
}

double taylor_features(std::int64_t d, int degree) {
  require_at_least("d", d, 1);
  require_at_least("degree", degree, 0);
  double out = 1;
  // A product of i factors divided by i! is an integer at every step.
  for (int i = 1; i <= degree; ++i) out = out * static_cast<double>(d + i) / i;
  return out;
}

double sparsity_of_features(std::span<const double> query, std::span<const double> mean, const Table& covariance) {
  const std::size_t d = query.size();
  require(d > 0, "query", "empty", "at least one coordinate");
  require_length("mean", mean.size(), d, "as query");
  require(covariance.rows == d && covariance.columns == d, "covariance",
          std::to_string(covariance.rows) + " x " + std::to_string(covariance.columns),
          std::to_string(d) + " x " + std::to_string(d));
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < d; ++i) {
    signal += query[i] * mean[i];
    for (std::size_t j = 0; j < d; ++j) noise += query[i] * covariance(i, j) * query[j];
  }
  // If the mean weight is 0, every weight is, since none is negative.
  return signal == 0 ? 0 : std::abs(signal) / std::sqrt(signal * signal + noise);
}

double sparsity_of_independent_features(std::span<const double> query, double mean, double deviation) {
  require_positive("mean", mean);
  require_non_negative("deviation", deviation);
  double sum = 0, squares = 0;
  for (const double x : query) {
    require_non_negative("query", x);
    sum += x;
    squares += x * x;
  }
  if (sum == 0) return 0;
  return sum * mean / std::sqrt(sum * mean * sum * mean + deviation * deviation * squares);
}

FeatureMoments gaussian_feature_moments(Feature feature, double sigma) {
  require_positive("sigma", sigma);
  const double variance = sigma * sigma;
  switch (feature) {
    case Feature::relu:
      return moments(sigma * kPhiAtZero, variance / 2);
    case Feature::exp:
      return {std::exp(variance / 2), std::exp(variance / 2) * std::sqrt(std::expm1(variance))};
    case Feature::elu_plus_one:  // x + 1 above 0, e^x below
      return moments(sigma * kPhiAtZero + 0.5 + scaled_tail(sigma),
                     variance / 2 + 2 * sigma * kPhiAtZero + 0.5 + scaled_tail(2 * sigma));
    case Feature::identity:
      break;
  }
  throw Error("feature", "identity", "one that is not negative: relu, elu_plus_one or exp");
}

double sparsity_of_decay(double lambda, std::int64_t n) {
  const double rate = require_decay(lambda, n), keys = static_cast<double>(n);
  if (rate == 0) return 1;
  return std::sqrt(std::tanh(keys * rate / 2) / (keys * std::tanh(rate / 2)));
}

double decay_sparsity_bound(double lambda, std::int64_t n) {
  const double rate = require_decay(lambda, n), keys = static_cast<double>(n);
  return 1 / std::sqrt(keys * std::tanh(rate / 2) * (1 + std::exp(-keys * rate)));
}

double decay_sparsity_rate(double lambda) { return 1 / std::sqrt(std::tanh(require_decay(lambda, 1) / 2)); }

double slow_decay_sparsity(double c) {
  require_non_negative("c", c);
  return c == 0 ? 1 : std::sqrt(2 / c * std::tanh(c / 2));
}

}  // namespace isentropic::theory
