// Gradient descent with Adam (Kingma & Ba 2015) for a handful of parameters.
#pragma once

#include <cmath>
#include <span>
#include <vector>

namespace isentropic::experiments::tools {

class Adam {
 public:
  explicit Adam(std::size_t parameters) : mean_(parameters), square_(parameters) {}

  void descend(std::span<double> parameters, std::span<const double> gradient, double rate) {
    mean_bias_ *= kMeanDecay, square_bias_ *= kSquareDecay;
    for (std::size_t x = 0; x < parameters.size(); ++x) {
      mean_[x] = kMeanDecay * mean_[x] + (1 - kMeanDecay) * gradient[x];
      square_[x] = kSquareDecay * square_[x] + (1 - kSquareDecay) * gradient[x] * gradient[x];
      parameters[x] -=
          rate * (mean_[x] / (1 - mean_bias_)) / (std::sqrt(square_[x] / (1 - square_bias_)) + kSmallestDeviation);
    }
  }

 private:
  static constexpr double kMeanDecay = .9, kSquareDecay = .999, kSmallestDeviation = 1e-8;
  std::vector<double> mean_, square_;
  double mean_bias_ = 1, square_bias_ = 1;
};

}  // namespace isentropic::experiments::tools
