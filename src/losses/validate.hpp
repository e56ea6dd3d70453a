// Checks of a loss, before any work: an Error names the argument, its value and what was expected.
#pragma once

#include "isentropic/softmax_loss.hpp"

namespace isentropic {

// Everything but what lies in memory, which may be a device's.
void validate_shapes(const SoftmaxLossProblem& problem);
void validate_targets(const SoftmaxLossProblem& problem);

}  // namespace isentropic
