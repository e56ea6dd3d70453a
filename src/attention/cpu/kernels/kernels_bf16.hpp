// Products of bfloat16 by AVX-512-BF16 and by AMX tiles. Everything else they take from the AVX-512 set.
#pragma once

#include <vector>

#include "attention/cpu/kernels/kernels.hpp"

namespace isentropic {

// Best first; empty where they cannot be built.
std::vector<const Kernels*> bf16_kernels(const Kernels& avx512);

}  // namespace isentropic
