// Means with their errors, and slopes.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace isentropic::instruments {

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

// The mean of draw() over `draws` calls.
template <class Draw>
Estimate mean_of(std::int64_t draws, Draw&& draw) {
  Mean mean;
  for (std::int64_t t = 0; t < draws; ++t) mean.add(draw());
  return mean.estimate();
}

// Least squares dy/dx.
inline double slope(std::span<const double> x, std::span<const double> y) {
  double mean_x = 0, mean_y = 0, xy = 0, xx = 0;
  for (std::size_t i = 0; i < x.size(); ++i) mean_x += x[i], mean_y += y[i];
  mean_x /= static_cast<double>(x.size()), mean_y /= static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
  }
  return xy / xx;
}

// The power p of y ~ x^p.
inline double power(std::span<const double> x, std::span<const double> y) {
  std::vector<double> log_x, log_y;
  for (double v : x) log_x.push_back(std::log(v));
  for (double v : y) log_y.push_back(std::log(v));
  return slope(log_x, log_y);
}

}  // namespace isentropic::instruments
