// Moments of the noise families, and the bias and rms caused by noise with a given variance ratio.
#include "isentropic/theory/noise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>

#include "base/checks.hpp"

namespace isentropic::theory {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using information::Table;

double non_negative(const char* name, double x) {
  require_non_negative(name, x);
  return x;
}

double sinh_over(double x) { return x == 0 ? 1 : std::sinh(x) / x; }

// a coth(a) - 1; the series keeps the digits that the difference loses.
double coth_excess(double a) {
  if (a < 0.02) return a * a / 3 * (1 - a * a / 15);
  return a / std::tanh(a) - 1;
}

std::vector<double> mean_value(std::span<const double> weights, const Table& values) {
  std::vector<double> out(values.columns, 0);
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t d = 0; d < values.columns; ++d) out[d] += weights[i] * values(i, d);
  return out;
}

void require_values(std::span<const double> weights, std::size_t rows) {
  require_distribution("weights", weights);
  require_length("values", rows, weights.size(), "one for each weight");
}

}  // namespace

NoiseLaw NoiseLaw::gaussian(double sigma) { return {NoiseFamily::gaussian, non_negative("sigma", sigma)}; }
NoiseLaw NoiseLaw::uniform(double half_width) { return {NoiseFamily::uniform, non_negative("half_width", half_width)}; }
NoiseLaw NoiseLaw::laplace(double scale) { return {NoiseFamily::laplace, non_negative("scale", scale)}; }
NoiseLaw NoiseLaw::gumbel(double tau) {
  require(tau > 0, "tau", tau, "a number > 0, or inf for no noise");
  return {NoiseFamily::gumbel, tau};
}

double NoiseLaw::exponential_moment(double order) const {
  const double x = order * parameter_;
  switch (family_) {
    case NoiseFamily::gaussian:
      return std::exp(x * x / 2);
    case NoiseFamily::uniform:
      return sinh_over(x);
    case NoiseFamily::laplace:
      return std::abs(x) < 1 ? 1 / ((1 - x) * (1 + x)) : kInfinity;
    case NoiseFamily::gumbel:
      break;
  }
  return order < parameter_ ? std::tgamma(1 - order / parameter_) : kInfinity;
}

double NoiseLaw::variance_ratio() const {
  const double square = parameter_ * parameter_;
  if (tail_index() <= 2) return kInfinity;
  switch (family_) {
    case NoiseFamily::gaussian:
      return std::expm1(square);
    case NoiseFamily::uniform:
      return coth_excess(parameter_);
    case NoiseFamily::laplace:
      return square * (2 + square) / (1 - 4 * square);
    case NoiseFamily::gumbel:
      break;
  }
  return std::expm1(std::lgamma(1 - 2 / parameter_) - 2 * std::lgamma(1 - 1 / parameter_));
}

double NoiseLaw::tail_index() const {
  if (family_ == NoiseFamily::laplace) return 1 / parameter_;
  return family_ == NoiseFamily::gumbel ? parameter_ : kInfinity;
}

std::optional<double> NoiseLaw::rate_exponent() const {
  const double index = tail_index();
  if (index <= 1) return {};
  return index >= 2 ? -0.5 : -(1 - 1 / index);
}

NoiseEffect noise_effect(std::span<const double> weights, const Table& values, double variance_ratio) {
  require_values(weights, values.rows);
  require(variance_ratio >= 0, "variance_ratio", variance_ratio, "a number >= 0, or inf");
  const std::vector<double> output = mean_value(weights, values);
  NoiseEffect out{std::vector<double>(values.columns, 0), 0};
  double squares = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double square = weights[i] * weights[i];
    for (std::size_t d = 0; d < values.columns; ++d) {
      const double away = values(i, d) - output[d];
      out.bias[d] -= variance_ratio * square * away;
      squares += square * away * away;
    }
  }
  out.rms = std::sqrt(variance_ratio * squares);
  return out;
}

NoiseEffect group_noise_effect(std::span<const double> weights, const Table& values,
                               std::span<const std::int64_t> groups, double variance_ratio) {
  require_values(weights, values.rows);
  require_length("groups", groups.size(), weights.size(), "one for each weight");
  std::map<std::int64_t, std::size_t> row_of;
  for (std::int64_t group : groups) row_of.emplace(group, row_of.size());
  std::vector<double> mass(row_of.size(), 0);
  Table sums(row_of.size(), values.columns);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t row = row_of[groups[i]];
    mass[row] += weights[i];
    for (std::size_t d = 0; d < values.columns; ++d) sums(row, d) += weights[i] * values(i, d);
  }
  for (std::size_t row = 0; row < sums.rows; ++row)
    if (mass[row] > 0)
      for (double& x : sums.row(row)) x /= mass[row];
  return noise_effect(mass, sums, variance_ratio);
}

double value_noise_shift(std::span<const double> weights, std::span<const double> values, double c) {
  require_values(weights, values.size());
  double highest = -kInfinity;
  for (double v : values) highest = std::max(highest, c * v);
  double mass = 0, tilted = 0, plain = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double weight = weights[i] * std::exp(c * values[i] - highest);
    mass += weight;
    tilted += weight * values[i];
    plain += weights[i] * values[i];
  }
  return tilted / mass - plain;
}

double two_key_gaussian_rms(double sigma) {
  require_non_negative("sigma", sigma);
  // (eps_1 - eps_2) / 2 ~ N(0, sigma^2 / 2). The trapezoidal rule on a smooth, rapidly decaying integrand converges
  // faster than any power of the step as long as the step is small compared with the distance to tanh's poles, at i
  // pi / 2 in the argument.
  const double deviation = sigma / std::numbers::sqrt2;
  const double step = 0.1 / std::max(1.0, deviation);
  double sum = 0, mass = 0;
  for (double x = -10; x <= 10; x += step) {
    const double density = std::exp(-x * x / 2), value = std::tanh(deviation * x);
    mass += density;
    sum += density * value * value;
  }
  return std::sqrt(sum / mass);
}

double mean_of_ratio(const RatioMoments& moments) {
  const double y = moments.mean_y;
  return moments.mean_x / y - moments.covariance / (y * y) + moments.variance_y * moments.mean_x / (y * y * y);
}

}  // namespace isentropic::theory
