// The sets written with Highway, best first.
#pragma once

#include <vector>

#include "attention/cpu/kernels/kernels.hpp"

namespace isentropic {

std::vector<const Kernels*> highway_kernels();

}  // namespace isentropic
