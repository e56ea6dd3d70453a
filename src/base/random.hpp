// Reproducible random numbers for experiments: the same on every platform, unlike the standard distributions.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

namespace isentropic {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t bits() { return engine_(); }
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  // [0, 1)
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  std::int64_t integer(std::int64_t low, std::int64_t high) {  // [low, high]
    return low + static_cast<std::int64_t>(uniform() * static_cast<double>(high - low + 1));
  }
  double exponential() { return -std::log(1 - uniform()); }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  double laplace(double scale) { return uniform() < 0.5 ? scale * exponential() : -scale * exponential(); }
  double gumbel() { return -std::log(exponential()); }  // mean 0.5772..., variance pi^2 / 6
  std::vector<double> normals(std::size_t count, double scale = 1) {
    std::vector<double> out(count);
    for (double& x : out) x = scale * normal();
    return out;
  }
  // A random point of the simplex: Dirichlet(1, ..., 1).
  std::vector<double> probabilities(std::size_t count) {
    std::vector<double> out(count);
    double sum = 0;
    for (double& x : out) sum += x = exponential();
    for (double& x : out) x /= sum;
    return out;
  }
  // Fisher-Yates.
  template <class T>
  void shuffle(std::vector<T>* items) {
    for (std::size_t x = items->size(); x > 1; --x) {
      std::swap((*items)[x - 1], (*items)[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(x) - 1))]);
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace isentropic
