// Products on AMX tile registers (x86-64): eight tiles of 16 rows by 64 bytes, multiplying bfloat16 in pairs.
#pragma once

#include "attention/cpu/kernels/narrow_product.hpp"

namespace isentropic::amx {

// Whether the CPU has tiles and the system lets this process use them (on Linux, permission is requested).
bool available();

void product(const NarrowProduct& x, Store store);

}  // namespace isentropic::amx
