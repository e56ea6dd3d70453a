// Softmax attention on tensor cores, forward: output and row records in one pass.
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// Whether there is a kernel for the problem, and one that also computes key groups in the same pass.
// ForwardOutput::groups requests the latter; its `drowned` then points to a workspace of forward_groups_workspace()
// bytes.
bool has_forward(const Problem& problem);
bool has_forward_with_groups(const Problem& problem);
std::size_t forward_groups_workspace(const Problem& problem);

cudaError_t forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream);

}  // namespace isentropic::cuda
