// Softmax attention on tensor cores, forward: output and the record of every row, in one pass.
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// Whether there is a kernel for the problem.
bool has_forward(const Problem& problem);

cudaError_t forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream);

}  // namespace isentropic::cuda
