// The kernels of key groups, each compiled from a file of its own (key_groups_instance.cu.in).
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// With every term that a score can have.
template <ElementType type, int d>
cudaError_t launch_key_groups(const Problem& problem, const KeyGroupArrays& groups, cudaStream_t stream);

}  // namespace isentropic::cuda
