// Random distributions, joint distributions and channels.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "experiments/tools/algebra.hpp"
#include "isentropic/information/distribution.hpp"

namespace isentropic::experiments::tools {

// Gamma(shape, 1) by rejection (Marsaglia & Tsang 2000).
inline double gamma_variate(Random& random, double shape) {
  if (shape < 1) return gamma_variate(random, shape + 1) * std::pow(1 - random.uniform(), 1 / shape);
  const double d = shape - 1. / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = random.normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - random.uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

// Dirichlet(alpha, ..., alpha): small alpha concentrates the mass on few outcomes.
inline std::vector<double> dirichlet(Random& random, std::size_t outcomes, double alpha) {
  std::vector<double> out(outcomes);
  double sum = 0;
  for (double& p : out) sum += p = gamma_variate(random, alpha);
  if (!(sum > 0)) return dirichlet(random, outcomes, alpha);  // every variate underflowed
  for (double& p : out) p /= sum;
  return out;
}

inline information::Table random_joint(Random& random, std::size_t rows, std::size_t columns, double alpha) {
  return {rows, columns, dirichlet(random, rows * columns, alpha)};
}

// p(column | row), each row drawn independently.
inline information::Table random_channel(Random& random, std::size_t rows, std::size_t columns, double alpha) {
  information::Table out(rows, columns);
  for (std::size_t r = 0; r < rows; ++r) {
    const std::vector<double> p = dirichlet(random, columns, alpha);
    std::copy(p.begin(), p.end(), out.row(r).begin());
  }
  return out;
}

// p(x, z) from p(x) and p(z | x).
inline information::Table joint_of(std::span<const double> input, const information::Table& channel) {
  information::Table out = channel;
  for (std::size_t x = 0; x < out.rows; ++x)
    for (double& p : out.row(x)) p *= input[x];
  return out;
}

// Draws an outcome from a distribution.
inline std::size_t draw(Random& random, std::span<const double> p) {
  double u = random.uniform();
  for (std::size_t x = 0; x + 1 < p.size(); ++x)
    if ((u -= p[x]) < 0) return x;
  return p.size() - 1;
}

}  // namespace isentropic::experiments::tools
