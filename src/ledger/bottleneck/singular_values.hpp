// Singular values of a small matrix, by one-sided Jacobi rotations (Hestenes 1958): columns are rotated in pairs until
// all are orthogonal; their lengths are the singular values. Small ones keep their relative accuracy.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "isentropic/information/table.hpp"

namespace isentropic::ledger::bottleneck {

// Falling; rows >= columns.
inline std::vector<double> singular_values(Table a) {
  constexpr int kSweeps = 60;
  constexpr double kOrthogonal = 1e-14;
  const std::size_t n = a.columns;
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < kSweeps; ++sweep) {
    rotated = false;
    for (std::size_t i = 0; i + 1 < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) {
        double ii = 0, jj = 0, ij = 0;
        for (std::size_t r = 0; r < a.rows; ++r)
          ii += a(r, i) * a(r, i), jj += a(r, j) * a(r, j), ij += a(r, i) * a(r, j);
        if (std::abs(ij) <= kOrthogonal * std::sqrt(ii * jj)) continue;
        rotated = true;
        const double zeta = (jj - ii) / (2 * ij);
        const double t = std::copysign(1 / (std::abs(zeta) + std::sqrt(1 + zeta * zeta)), zeta);
        const double c = 1 / std::sqrt(1 + t * t), s = c * t;
        for (std::size_t r = 0; r < a.rows; ++r) {
          const double x = a(r, i), y = a(r, j);
          a(r, i) = c * x - s * y, a(r, j) = s * x + c * y;
        }
      }
  }
  std::vector<double> out(n);
  for (std::size_t c = 0; c < n; ++c) {
    double sum = 0;
    for (std::size_t r = 0; r < a.rows; ++r) sum += a(r, c) * a(r, c);
    out[c] = std::sqrt(sum);
  }
  std::sort(out.rbegin(), out.rend());
  return out;
}

}  // namespace isentropic::ledger::bottleneck
