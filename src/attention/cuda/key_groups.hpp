// Key-group statistics on tensor cores: a separate pass over queries and keys.
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// Whether there is a kernel for the problem.
bool has_key_groups(const Problem& problem);

cudaError_t key_groups(const Problem& problem, const KeyGroupArrays& groups, cudaStream_t stream);

}  // namespace isentropic::cuda
