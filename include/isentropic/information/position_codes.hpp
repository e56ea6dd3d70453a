// What position codes say about position and distance. Nats.
//
// A code PE(pos) is a function of the position, so I(PE;pos) = H(PE): the entropy over distinct codes, which is log n
// if all n codes differ and positions are equally likely. The offset Delta = pos1 - pos2 (independent positions) is a
// function of the pair of positions, hence I((PE1,PE2);Delta) = H(Delta) for distinct codes, while one code alone says
// little. By hand: n = 16 distinct codes give 4 bits about the position; the pair gives 4.716 bits about the offset,
// one code .716.
#pragma once

#include <cstddef>
#include <span>

#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

// One code per row. `positions`: their probabilities, equal if empty. Codes are the same if their coordinates agree
// after rounding to multiples of `resolution` (0: no rounding).
ISENTROPIC_API double position_information(const Table& codes, std::span<const double> positions = {},
                                           double resolution = 0);

struct OffsetInformation {
  double one_code = 0;    // I(PE1; Delta)
  double both_codes = 0;  // I((PE1,PE2); Delta)
  double entropy = 0;     // H(Delta)
};
ISENTROPIC_API OffsetInformation offset_information(const Table& codes, std::span<const double> positions = {},
                                                    double resolution = 0);

// sin(pos w_i), cos(pos w_i) in columns 2i, 2i + 1; w_i = base^(-2i/d) (Vaswani et al. 2017). d even.
ISENTROPIC_API Table sinusoidal_codes(std::size_t positions, std::size_t d, double base = 10000);

}  // namespace isentropic::information
