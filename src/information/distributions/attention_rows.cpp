// Accepts rows that sum to one up to float32 rounding, and renormalises them exactly.
#include "information/distributions/attention_rows.hpp"

#include <cmath>

#include "information/distributions/validate.hpp"
#include "isentropic/error.hpp"

namespace isentropic::information {

Table exact_rows(const std::string& name, const Table& weights) {
  constexpr double kRounding = 1e-5;  // in sums of float32 weights
  if (weights.rows == 0 || weights.columns == 0 || weights.values.size() != weights.rows * weights.columns)
    throw Error(name, shape_text(weights), "a table of weights");
  Table out = weights;
  for (std::size_t q = 0; q < out.rows; ++q) {
    double sum = 0;
    for (double a : out.row(q)) {
      if (!(a >= 0)) throw Error("a weight in row " + std::to_string(q) + " of " + name, a, "a number >= 0");
      sum += a;
    }
    if (!(std::abs(sum - 1) <= kRounding))
      throw Error("the sum of row " + std::to_string(q) + " of " + name, sum, "1 within 1e-5");
    for (double& a : out.row(q)) a /= sum;
  }
  return out;
}

}  // namespace isentropic::information
