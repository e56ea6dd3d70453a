// The entropy of a geometric law, in forms that stay accurate for small slopes.
#include "isentropic/theory/position_bias.hpp"

#include <cmath>

#include "base/checks.hpp"

namespace isentropic::theory {

double one_sided_alibi_entropy(double slope) {
  require_positive("slope", slope);
  // -log(1 - q) + m q / (1 - q)
  return -std::log(-std::expm1(-slope)) + slope / std::expm1(slope);
}

double one_sided_alibi_entropy(double slope, std::int64_t n) {
  require_at_least("n", n, 1);
  require_non_negative("slope", slope);
  const auto keys = static_cast<double>(n);
  const double total = slope * keys;
  if (slope == 0) return std::log(keys);
  return std::log(std::expm1(-total) / std::expm1(-slope)) + slope / std::expm1(slope) - total / std::expm1(total);
}

}  // namespace isentropic::theory
