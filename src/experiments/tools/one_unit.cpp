// Information of a single unit: exact with noise, and as binning estimators see it.
#include "experiments/tools/one_unit.hpp"

#include <cmath>
#include <map>
#include <numbers>

#include "isentropic/information/distribution.hpp"

namespace isentropic::experiments::tools {
namespace {

double density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }

// The x with P(X > x) = tail, by Newton's method from a starting point below it.
double upper_quantile(double tail, double x) {
  for (int t = 0; t < 4; ++t) x += (std::erfc(x / std::numbers::sqrt2) / 2 - tail) / density(x);
  return x;
}

}  // namespace

OneUnit::OneUnit() {
  constexpr std::size_t kPoints = 200001, kHalf = kPoints / 2;
  quantiles_.resize(kPoints);
  for (std::size_t x = 1; x <= kHalf; ++x) {
    const double tail = .5 - static_cast<double>(x) / static_cast<double>(kPoints);
    quantiles_[kHalf + x] = upper_quantile(tail, quantiles_[kHalf + x - 1]);
    quantiles_[kHalf - x] = -quantiles_[kHalf + x];
  }
}

double OneUnit::binned(Unit unit, double weight, Bins bins) const {
  std::map<std::int64_t, double> mass;
  const double share = 1 / static_cast<double>(quantiles_.size());
  std::int64_t bin = 0;
  double* cell = nullptr;  // h rises with x: most points fall in the same bin as the previous one
  for (double x : quantiles_) {
    const auto now = static_cast<std::int64_t>(std::floor((apply(unit, weight * x) - bins.first_edge) / bins.width));
    if (cell == nullptr || now != bin) bin = now, cell = &mass[now];
    *cell += share;
  }
  std::vector<double> p;
  for (const auto& [_, m] : mass) p.push_back(m);
  return information::to_bits(information::entropy(p));
}

double OneUnit::noisy(Unit unit, double weight, double deviation) const {
  constexpr std::size_t kStride = 400, kGrid = 1500;
  constexpr double kReach = 1.7;
  std::vector<double> centres;
  for (std::size_t x = 0; x < quantiles_.size(); x += kStride) centres.push_back(apply(unit, weight * quantiles_[x]));
  const double step = 2 * kReach / (kGrid - 1);
  double entropy_of_sum = 0;
  for (std::size_t g = 0; g < kGrid; ++g) {
    const double at = -kReach + step * static_cast<double>(g);
    double f = 0;
    for (double c : centres) f += density((at - c) / deviation);
    f /= deviation * static_cast<double>(centres.size());
    if (f > 0) entropy_of_sum -= step * f * std::log(f);
  }
  return information::to_bits(entropy_of_sum -
                              std::log(2 * std::numbers::pi * std::numbers::e * deviation * deviation) / 2);
}

}  // namespace isentropic::experiments::tools
