// Every softmax feature in plain arithmetic, without tensor cores: the path for float32 and float64, the fallback for
// what the fast kernels do not support, and their oracle on the device. Any d and d_v, any strides and alignment.
#pragma once

#include "attention/cuda/backward.hpp"
#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

cudaError_t plain_forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream);

std::size_t plain_backward_workspace(const BackwardProblem& problem);
cudaError_t plain_backward(const BackwardProblem& problem, cudaStream_t stream);

// Number of keys each row sees, [batch, heads, n_q], tests included.
cudaError_t count_visible(const Problem& problem, std::int64_t* counts, cudaStream_t stream);

// Column sums of the weights, real [batch, heads, n_k], from the rows' finished records (m and z).
cudaError_t plain_key_mass(const Problem& problem, const RowArrays& rows, void* key_mass, cudaStream_t stream);

// Weights of `count` rows (indices on the device) for the keys from first_key on, real [batch, heads, count, n_k -
// first_key], also from the finished records; dropout is not applied.
cudaError_t plain_weights(const Problem& problem, const RowArrays& rows, const std::int64_t* which, std::int64_t count,
                          std::int64_t first_key, void* weights, cudaStream_t stream);

// Statistics over key groups.
cudaError_t plain_key_groups(const Problem& problem, const KeyGroupArrays& groups, cudaStream_t stream);

}  // namespace isentropic::cuda
