// Slopes of entropy against log n under a scale law, and the kappa that makes them zero.
#include "isentropic/theory/scale_laws.hpp"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <vector>

#include "base/checks.hpp"
#include "isentropic/theory/random_scores.hpp"

namespace isentropic::theory {
namespace {

std::vector<double> logarithms(std::span<const std::int64_t> lengths) {
  std::vector<double> out;
  for (const std::int64_t n : lengths) out.push_back(std::log(static_cast<double>(n)));
  return out;
}

double least_squares_slope(const std::vector<double>& x, const std::vector<double>& y) {
  const double count = static_cast<double>(x.size());
  double mean = 0, xy = 0, xx = 0;
  for (const double v : x) mean += v / count;
  for (std::size_t i = 0; i < x.size(); ++i) xy += (x[i] - mean) * y[i], xx += (x[i] - mean) * (x[i] - mean);
  return xy / xx;
}

void require_lengths(std::span<const std::int64_t> lengths) {
  require_at_least("the number of lengths", lengths.size(), 2);
  for (const std::int64_t n : lengths) require_at_least("a length", n, 2);
}

}  // namespace

double law_lambda(const Scale& scale, std::int64_t n, std::int64_t d) {
  if (scale.is_per_row() || scale.is_target_entropy())
    throw Error("scale", scale.name(), "a law that gives lambda from n and d");
  return scale.lambda({.visible = n, .d = d, .position = n - 1, .head = 0});
}

double law_entropy(const Scale& scale, std::int64_t n, std::int64_t d) {
  const double log_n = std::log(static_cast<double>(n));
  if (scale.is_target_entropy()) return std::min(scale.target(0), log_n);
  return expected_row(ScoreLaw::cosine(static_cast<double>(d)), log_n, law_lambda(scale, n, d)).entropy;
}

double law_slope(const Scale& scale, std::span<const std::int64_t> lengths, std::int64_t d) {
  require_lengths(lengths);
  std::vector<double> entropy;
  for (const std::int64_t n : lengths) entropy.push_back(law_entropy(scale, n, d));
  return least_squares_slope(logarithms(lengths), entropy);
}

std::optional<double> invariant_kappa(std::span<const std::int64_t> lengths, std::int64_t d, double most) {
  const auto slope_at = [&](double kappa) { return law_slope(Scale::log_n(kappa), lengths, d); };
  double low = 0.5, at_low = slope_at(low);
  // The slope decreases through its first zero and may rise again, so search upwards for it.
  for (double high = low; (high = std::min(high * 1.5, most)) > low; low = high) {
    const double at_high = slope_at(high);
    if (at_high <= 0) {
      std::uintmax_t evaluations = 40;
      const auto close = [](double a, double b) { return b - a < 1e-6; };
      const auto root = boost::math::tools::toms748_solve(slope_at, low, high, at_low, at_high, close, evaluations);
      return (root.first + root.second) / 2;
    }
    at_low = at_high;
  }
  return {};
}

KappaFit fit_kappa(std::span<const std::int64_t> lengths, std::int64_t d, double entropy) {
  require_lengths(lengths);
  const std::vector<double> x = logarithms(lengths);
  std::vector<double> lambda, log_x, log_lambda;
  double xy = 0, xx = 0, mean = 0, squares = 0;
  for (const double log_n : x) {
    lambda.push_back(scale_for_entropy(ScoreLaw::cosine(static_cast<double>(d)), log_n, entropy));
    log_x.push_back(std::log(log_n)), log_lambda.push_back(std::log(lambda.back()));
    xy += log_n * lambda.back(), xx += log_n * log_n;
  }
  const double count = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean += lambda[i] / count;
    squares += std::pow(xy / xx * x[i] - lambda[i], 2) / count;
  }
  return {xy / xx * static_cast<double>(d), std::sqrt(squares) / mean, least_squares_slope(log_x, log_lambda)};
}

double planted_probability(double log_n, double planted_logit, double others_variance) {
  require_non_negative("others_variance", others_variance);
  return 1 / (1 + std::exp(log_n + others_variance / 2 - planted_logit));
}

double needle_probability(double log_n, double d, double lambda, double match) {
  require_positive("d", d);
  return planted_probability(log_n, lambda * d * match, lambda * lambda * d);
}

double tail_growth(ScoreTail tail, double log_n, double edge_exponent) {
  require_positive("log_n", log_n);
  switch (tail) {
    case ScoreTail::planted_match:
      return log_n;
    case ScoreTail::gaussian:
      return std::sqrt(log_n);
    case ScoreTail::exponential:
      return 1;
    case ScoreTail::bounded:
      break;
  }
  require_positive("edge_exponent", edge_exponent);
  return std::exp(log_n / edge_exponent);
}

double gaussian_local_exponent(double log_n, double entropy) {
  require_below("entropy", entropy, log_n);
  return log_n / (2 * (log_n - entropy));
}

}  // namespace isentropic::theory
