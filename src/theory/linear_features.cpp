// How far the entropy of linear attention falls below log n, and the feature sharpening that holds it constant.
#include "isentropic/theory/linear_features.hpp"

#include <cmath>

#include "base/checks.hpp"
#include "isentropic/theory/random_energy.hpp"

namespace isentropic::theory {

double entropy_deficit(std::span<const double> x) {
  double sum = 0, sum_log = 0;
  for (const double value : x) {
    require_non_negative("x", value);
    sum += value;
    if (value > 0) sum_log += value * std::log(value);
  }
  require_positive("the sum of x", sum);
  return sum_log / sum - std::log(sum / static_cast<double>(x.size()));
}

double lognormal_entropy_deficit(double sigma) { return sigma * sigma / 2; }

double feature_sharpening(double log_n, double entropy, double sigma) {
  require_positive("sigma", sigma);
  return frozen_coefficient(entropy) * freezing_spread(log_n) / sigma;
}

}  // namespace isentropic::theory
