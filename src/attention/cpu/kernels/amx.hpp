// Products on the tile registers of AMX (x86-64): eight of 16 rows by 64 bytes, multiplied two bfloat16 at a time.
#pragma once

#include "attention/cpu/kernels/narrow_product.hpp"

namespace isentropic::amx {

// The CPU has the tiles and the system lets this process use them: on Linux, after asking.
bool available();

void product(const NarrowProduct& x, Store store);

}  // namespace isentropic::amx
