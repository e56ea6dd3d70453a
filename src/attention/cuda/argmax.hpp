// The place of every row's maximum on tensor cores: a pass of its own over queries and keys.
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// Whether there is a kernel for the problem.
bool has_argmax(const Problem& problem);

// places: [batch, heads, n_q]; the lowest of equal ones, -1 where a row sees no key.
cudaError_t argmax(const Problem& problem, std::int64_t* places, cudaStream_t stream);

// One kernel, compiled from a file of its own (argmax_instance.cu.in).
template <ElementType type, int d>
cudaError_t launch_argmax(const Problem& problem, std::int64_t* places, cudaStream_t stream);

}  // namespace isentropic::cuda
