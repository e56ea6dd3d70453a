// The kernels of the forward pass, each compiled from a file of its own (forward_instance.cu.in).
#pragma once

#include "attention/cuda/forward.hpp"

namespace isentropic::cuda {

// extras: a soft cap, slopes or dropout. Heads wider than 128 always have them; d and d_v are then the most it takes.
template <ElementType type, int d, int d_v, MomentSet moments, bool extras>
cudaError_t launch_forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream);

}  // namespace isentropic::cuda
