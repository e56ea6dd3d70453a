// The library's reproducible random numbers, under the name the tests use.
#pragma once

#include "base/random.hpp"

namespace support {

using isentropic::Random;

}  // namespace support
