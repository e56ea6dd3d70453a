// Inner products and small matrices, with plain loops.
#pragma once

#include <span>

#include "isentropic/information/table.hpp"

namespace isentropic::experiments::tools {

inline double dot(std::span<const double> x, std::span<const double> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

inline information::Table product(const information::Table& a, const information::Table& b) {
  information::Table out(a.rows, b.columns);
  for (std::size_t r = 0; r < a.rows; ++r)
    for (std::size_t k = 0; k < a.columns; ++k)
      for (std::size_t c = 0; c < b.columns; ++c) out(r, c) += a(r, k) * b(k, c);
  return out;
}

inline information::Table transposed(const information::Table& a) {
  information::Table out(a.columns, a.rows);
  for (std::size_t r = 0; r < a.rows; ++r)
    for (std::size_t c = 0; c < a.columns; ++c) out(c, r) = a(r, c);
  return out;
}

}  // namespace isentropic::experiments::tools
