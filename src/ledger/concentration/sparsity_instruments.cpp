// Sparsity indices by quadrature and by sampling, independent of the closed forms they check.
#include <cmath>

#include "experiments/sparsity/measure.hpp"
#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "ledger/concentration/subjects.hpp"

namespace isentropic::ledger::concentration {
namespace {

constexpr double kReach = 15;  // the Gaussian law is cut off at 15 deviations, 1e-49

// Integral of f(e) e^{-e^2/2}.
double simpson(const Map& f, double low, double high) {
  constexpr int kSteps = 4000;
  const double h = (high - low) / kSteps;
  double sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double e = low + i * h;
    const double weight = i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * f(e) * std::exp(-e * e / 2);
  }
  return sum * h / 3;
}

}  // namespace

double sparsity_by_quadrature(const Map& map, GaussianScores scores) {
  const double zero = std::min(std::max(-scores.beta / scores.gamma, -kReach), 2.5 * kReach);
  const double above = zero > 4 ? 60 / zero : kReach;  // far out, the law falls as e^{-zero x}
  const auto expectation = [&](const Map& f) {
    const Map of_noise = [&](double e) { return f(map(scores.beta + scores.gamma * e)); };
    return (simpson(of_noise, -kReach, zero) + simpson(of_noise, zero, std::max(zero, 0.0) + above)) /
           std::sqrt(2 * std::numbers::pi);
  };
  return expectation([](double a) { return std::abs(a); }) / std::sqrt(expectation([](double a) { return a * a; }));
}

double sparsity_by_partitions(GaussianScores scores) {
  // The trapezoidal rule is exact to rounding for Gaussian integrands; e^{2s} shifts the centre by 2 gamma.
  const double low = -kReach, high = kReach + 2 * scores.gamma, h = 0.05;
  const auto n = static_cast<std::size_t>((high - low) / h) + 1;
  Table rows(2, n);
  for (std::size_t i = 0; i < n; ++i) {
    const double e = low + h * static_cast<double>(i), s = scores.beta + scores.gamma * e;
    const double log_weight = std::log(h / std::sqrt(2 * std::numbers::pi)) - e * e / 2;
    rows(0, i) = s + log_weight;
    rows(1, i) = 2 * s + log_weight;
  }
  const std::vector<Record> records = records_of(rows);
  return std::exp(log_partition(records[0]) - log_partition(records[1]) / 2);
}

Estimate sampled_sparsity(Check& check, GaussianScores scores, const ScoreMap& map, std::size_t n, std::int64_t draws) {
  return mean_of(draws, [&] {
    std::vector<double> s = check.random().normals(n, scores.gamma);
    for (double& x : s) x += scores.beta;
    return experiments::sparsity::measure(s, map).sparsity;
  });
}

std::vector<double> steps(double low, double high, int count) {
  std::vector<double> out;
  for (int i = 0; i < count; ++i) out.push_back(low + (high - low) * i / (count - 1));
  return out;
}

}  // namespace isentropic::ledger::concentration
