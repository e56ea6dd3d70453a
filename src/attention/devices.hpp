// The devices that have kernels, each with its table of passes.
#pragma once

#include "attention/passes/passes.hpp"
#include "isentropic/export.hpp"

namespace isentropic {

// A device announces its passes, which must outlive all calls, usually when its library is loaded; null takes them
// back. The CPU's are there from the start.
ISENTROPIC_API void set_passes(Device::Kind kind, const Passes* passes);

// The passes of the device that holds the problem's tensors. An Error where no device of its kind has announced any.
const Passes& passes_for(const AttentionProblem& problem);

}  // namespace isentropic
