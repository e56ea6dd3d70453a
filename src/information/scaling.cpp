// Standardises columns before distances are compared.
#include "information/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "isentropic/error.hpp"

namespace isentropic::information {

Moderate moderate(const Table& samples) {
  Moderate out{samples, 0};
  for (std::size_t c = 0; c < samples.columns; ++c) {
    double largest = 0;
    for (std::size_t r = 0; r < samples.rows; ++r) largest = std::max(largest, std::abs(samples(r, c)));
    if (largest == 0) continue;
    const int exponent = std::ilogb(largest);
    for (std::size_t r = 0; r < samples.rows; ++r) out.samples(r, c) = std::ldexp(samples(r, c), -exponent);
    out.log_scale += exponent * std::numbers::ln2;
  }
  return out;
}

Table scaled(const std::string& name, const Table& samples, Scaling scaling) {
  if (scaling == Scaling::none) return samples;
  Table out = moderate(samples).samples;
  const double rows = static_cast<double>(out.rows);
  for (std::size_t c = 0; c < out.columns; ++c) {
    double mean = 0, squares = 0;
    for (std::size_t r = 0; r < out.rows; ++r) mean += out(r, c) / rows;
    for (std::size_t r = 0; r < out.rows; ++r) squares += (out(r, c) - mean) * (out(r, c) - mean);
    // For a constant column, rounding of the mean alone leaves about this much.
    const double deviation = std::sqrt(squares / rows);
    if (deviation <= 4 * std::numeric_limits<double>::epsilon() * std::abs(mean))
      throw Error("column " + std::to_string(c) + " of " + name, "constant", "values that vary");
    for (std::size_t r = 0; r < out.rows; ++r) out(r, c) = (out(r, c) - mean) / deviation;
  }
  return out;
}

}  // namespace isentropic::information
