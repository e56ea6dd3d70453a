// The CPU's table of passes.
#pragma once

#include "attention/passes/passes.hpp"

namespace isentropic {

const Passes& cpu_passes();

}  // namespace isentropic
