// The number of coordinates that distinct position codes need, in integer arithmetic.
#include "isentropic/theory/position_capacity.hpp"

#include <bit>

#include "base/checks.hpp"

namespace isentropic::theory {

std::int64_t least_position_coordinates(std::int64_t positions, std::int64_t bits) {
  require_at_least("positions", positions, 1);
  require_at_least("bits", bits, 1);
  const std::int64_t needed = std::bit_width(static_cast<std::uint64_t>(positions - 1));  // ceil(log2 n)
  return needed / bits + (needed % bits != 0);
}

}  // namespace isentropic::theory
