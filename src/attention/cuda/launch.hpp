// The kernels of the forward pass, each compiled from a file of its own (forward_instance.cu.in).
#pragma once

#include "attention/cuda/forward.hpp"

namespace isentropic::cuda {

// extras: a soft cap or slopes.
template <ElementType type, int d, MomentSet moments, bool extras>
cudaError_t launch_forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream);

}  // namespace isentropic::cuda
