// The kernels of key groups, each compiled from a file of its own (key_groups_instance.cu.in).
#pragma once

#include "attention/cuda/plain.hpp"

namespace isentropic::cuda {

// extras: a soft cap or slopes.
template <ElementType type, int d, bool extras>
cudaError_t launch_key_groups(const Problem& problem, const KeyGroupArrays& groups, cudaStream_t stream);

}  // namespace isentropic::cuda
