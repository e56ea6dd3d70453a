// Means with standard errors, and slopes.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace isentropic::experiments::tools {

// A mean and its standard error.
struct Estimate {
  double mean = 0;
  double error = 0;
};

// Mean and variance of a stream of numbers (Welford).
class Mean {
 public:
  void add(double x) {
    ++count_;
    const double delta = x - mean_;
    mean_ += delta / static_cast<double>(count_);
    squares_ += delta * (x - mean_);
  }
  double mean() const { return mean_; }
  double variance() const { return count_ > 1 ? squares_ / static_cast<double>(count_ - 1) : 0; }
  double deviation() const { return std::sqrt(variance()); }
  Estimate estimate() const { return {mean_, count_ > 0 ? std::sqrt(variance() / static_cast<double>(count_)) : 0}; }

 private:
  std::int64_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

// The mean of `draws` calls of draw().
template <class Draw>
Estimate mean_of(std::int64_t draws, Draw&& draw) {
  Mean mean;
  for (std::int64_t t = 0; t < draws; ++t) mean.add(draw());
  return mean.estimate();
}

inline Mean mean_over(std::span<const double> values) {
  Mean out;
  for (double x : values) out.add(x);
  return out;
}

// Least squares dy/dx = sum_i w_i y_i,   w_i = (x_i - mean x) / sum_i (x_i - mean x)^2.
inline std::vector<double> slope_weights(std::span<const double> x) {
  double mean = 0, squares = 0;
  for (double v : x) mean += v / static_cast<double>(x.size());
  for (double v : x) squares += (v - mean) * (v - mean);
  std::vector<double> out;
  for (double v : x) out.push_back((v - mean) / squares);
  return out;
}

inline double slope(std::span<const double> x, std::span<const double> y) {
  const std::vector<double> weights = slope_weights(x);
  double out = 0;
  // The weights sum to 0, so subtracting the first y changes nothing; it avoids losing digits to a large common offset.
  for (std::size_t i = 0; i < x.size(); ++i) out += weights[i] * (y[i] - y[0]);
  return out;
}

// With the error propagated from those of y, sqrt(sum_i w_i^2 error_i^2).
inline Estimate slope(std::span<const double> x, std::span<const Estimate> y) {
  const std::vector<double> weights = slope_weights(x);
  double out = 0, variance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    out += weights[i] * (y[i].mean - y[0].mean);
    variance += weights[i] * weights[i] * y[i].error * y[i].error;
  }
  return {out, std::sqrt(variance)};
}

inline std::vector<double> logarithms(std::span<const double> x) {
  std::vector<double> out;
  for (double v : x) out.push_back(std::log(v));
  return out;
}

// The exponent p of |y| ~ x^p.
inline double power(std::span<const double> x, std::span<const double> y) {
  return slope(logarithms(x), logarithms(y));
}
inline Estimate power(std::span<const double> x, std::span<const Estimate> y) {
  std::vector<Estimate> log_y;
  for (const Estimate& v : y) log_y.push_back({std::log(std::abs(v.mean)), v.error / v.mean});
  return slope(logarithms(x), log_y);
}

}  // namespace isentropic::experiments::tools
