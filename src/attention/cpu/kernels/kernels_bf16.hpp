// bfloat16 products with AVX-512-BF16 and with AMX tiles. Everything else comes from the AVX-512 set.
#pragma once

#include <vector>

#include "attention/cpu/kernels/kernels.hpp"

namespace isentropic {

// Best first; empty if they cannot be built.
std::vector<const Kernels*> bf16_kernels(const Kernels& avx512);

}  // namespace isentropic
