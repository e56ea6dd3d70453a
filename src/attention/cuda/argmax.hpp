// The argmax of every row on tensor cores: a separate pass over queries and keys.
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// Whether there is a kernel for the problem.
bool has_argmax(const Problem& problem);

// places: [batch, heads, n_q]; ties go to the lowest index, and a row that sees no key gets -1.
cudaError_t argmax(const Problem& problem, std::int64_t* places, cudaStream_t stream);

// One kernel, compiled in its own file (argmax_instance.cu.in).
template <ElementType type, int d>
cudaError_t launch_argmax(const Problem& problem, std::int64_t* places, cudaStream_t stream);

}  // namespace isentropic::cuda
