// Softmax attention on tensor cores, forward: output and the record of every row, in one pass.
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// Whether there is a kernel for the problem, and one that takes key groups in the same pass. Output groups ask for
// these; their `drowned` is then a workspace of so many bytes.
bool has_forward(const Problem& problem);
bool has_forward_with_groups(const Problem& problem);
std::size_t forward_groups_workspace(const Problem& problem);

cudaError_t forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream);

}  // namespace isentropic::cuda
