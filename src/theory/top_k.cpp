// The mass outside the k largest weights, summed from the smallest up so that tiny masses keep their digits.
#include "isentropic/theory/top_k.hpp"

#include <algorithm>
#include <vector>

#include "base/checks.hpp"

namespace isentropic::theory {

double top_k_missing_mass(std::span<const double> p, std::int64_t k) {
  require_distribution("p", p);
  require_at_least("k", k, 1);
  std::vector<double> rising(p.begin(), p.end());
  std::sort(rising.begin(), rising.end());
  const auto left_out = static_cast<std::ptrdiff_t>(p.size()) - static_cast<std::ptrdiff_t>(k);
  double mass = 0;
  for (std::ptrdiff_t i = 0; i < left_out; ++i) mass += rising[static_cast<std::size_t>(i)];
  return mass;
}

}  // namespace isentropic::theory
