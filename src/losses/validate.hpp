// Checks of a loss, before any work: an Error names the argument, its value and what was expected.
#pragma once

#include "isentropic/softmax_loss.hpp"

namespace isentropic {

// Checks everything but the contents of tensors, which may be in device memory.
void validate_shapes(const SoftmaxLossProblem& problem);
void validate_targets(const SoftmaxLossProblem& problem);

}  // namespace isentropic
