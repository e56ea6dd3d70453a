#include "isentropic/theory/position_capacity.hpp"

#include <bit>
#include <string>

#include "isentropic/error.hpp"

namespace isentropic {

std::int64_t least_position_coordinates(std::int64_t positions, std::int64_t bits) {
  if (positions < 1) throw Error("positions", std::to_string(positions), "at least 1");
  if (bits < 1) throw Error("bits", std::to_string(bits), "at least 1");
  const std::int64_t needed = std::bit_width(static_cast<std::uint64_t>(positions - 1));  // ceil(log2 n)
  return needed / bits + (needed % bits != 0);
}

}  // namespace isentropic
