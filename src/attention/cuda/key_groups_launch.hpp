// The key-group kernels, each compiled in its own file (key_groups_instance.cu.in).
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// Supports every term of a score.
template <ElementType type, int d>
cudaError_t launch_key_groups(const Problem& problem, const KeyGroupArrays& groups, cudaStream_t stream);

}  // namespace isentropic::cuda
