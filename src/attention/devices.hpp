// The devices that have kernels, each with its table of passes.
#pragma once

#include "attention/passes/passes.hpp"
#include "isentropic/export.hpp"

namespace isentropic {

// Registers a device's passes, usually when its library is loaded; they must outlive all calls. Null unregisters them.
// The CPU's are registered from the start.
ISENTROPIC_API void set_passes(Device::Kind kind, const Passes* passes);

// The passes of the device that holds the problem's tensors. Error if none are registered for its kind.
const Passes& passes_for(const AttentionProblem& problem);

}  // namespace isentropic
