// Information between attention outputs and values, in closed form for Gaussian values and for coins.
#include "isentropic/theory/attention_channel.hpp"

#include <cmath>
#include <numbers>

#include "base/checks.hpp"

namespace isentropic::theory {

double gaussian_output_information(std::span<const double> a, double signal, double noise) {
  require_distribution("a", a);
  require_non_negative("signal", signal);
  require_positive("noise", noise);
  double squares = 0;
  for (double x : a) squares += x * x;
  return std::log1p(signal / noise * squares) / 2;
}

double coin_output_information(std::int64_t n) {
  require_at_least("n", n, 1);
  const auto coins = static_cast<double>(n);
  double out = 0;
  for (std::int64_t heads = 0; heads <= n; ++heads) {
    const auto k = static_cast<double>(heads);
    const double log_p =
        std::lgamma(coins + 1) - std::lgamma(k + 1) - std::lgamma(coins - k + 1) - coins * std::numbers::ln2;
    out -= std::exp(log_p) * log_p;
  }
  return out;
}

}  // namespace isentropic::theory
