// The devices that have kernels. All tensors are on the CPU today; another device is one more line.
#include "attention/devices.hpp"

#include "attention/cpu/cpu_passes.hpp"

namespace isentropic {

const Passes& passes_for(const AttentionProblem&) { return cpu_passes(); }

}  // namespace isentropic
