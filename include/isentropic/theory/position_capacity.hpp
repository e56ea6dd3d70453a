// How many coordinates a position code needs.
//
// d coordinates of b distinguishable bits each take at most 2^(d b) values, so n positions have distinct codes if and
// only if
//
//   d b >= log2 n
//
// Distances need nothing more: pos1 - pos2 is a function of the two positions. Over the reals (b unlimited) one
// coordinate is enough. By hand: n = 1024 needs 10, 5, 3, 2, 1 coordinates of 1, 2, 4, 8, 16 bits.
#pragma once

#include <cstdint>

#include "isentropic/export.hpp"

namespace isentropic::theory {

// The smallest such d; 0 for a single position. positions >= 1, bits >= 1; Error otherwise.
ISENTROPIC_API std::int64_t least_position_coordinates(std::int64_t positions, std::int64_t bits);

}  // namespace isentropic::theory
