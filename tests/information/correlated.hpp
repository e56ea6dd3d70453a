// Correlated Gaussian samples with known information: -log(1 - rho^2) / 2 per column.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/random.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

struct Pair {
  Table x, y;
};

// Standard normals; corresponding columns have correlation rho.
inline Pair correlated(std::size_t rows, std::size_t columns, double rho, std::uint64_t seed) {
  Random random(seed);
  Pair out{Table(rows, columns), Table(rows, columns)};
  for (std::size_t i = 0; i < out.x.values.size(); ++i) {
    out.x.values[i] = random.normal();
    out.y.values[i] = rho * out.x.values[i] + std::sqrt(1 - rho * rho) * random.normal();
  }
  return out;
}

}  // namespace isentropic::information
