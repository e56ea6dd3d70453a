// Which device a problem runs on.
#pragma once

#include "attention/passes/passes.hpp"

namespace isentropic {

// The passes of the device that holds the problem's tensors.
const Passes& passes_for(const AttentionProblem& problem);

}  // namespace isentropic
