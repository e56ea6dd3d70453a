// Every softmax feature in plain arithmetic, no tensor cores: the path of float32 and float64, of what the fast kernels
// do not take, and their oracle on the device. Any d and d_v, any strides and alignment.
#pragma once

#include "attention/cuda/backward.hpp"
#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

cudaError_t plain_forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream);

std::size_t plain_backward_workspace(const BackwardProblem& problem);
cudaError_t plain_backward(const BackwardProblem& problem, cudaStream_t stream);

// Keys that each row sees, [batch, heads, n_q], tests included.
cudaError_t count_visible(const Problem& problem, std::int64_t* counts, cudaStream_t stream);

// Column sums of the weights, real [batch, heads, n_k], from the rows' finished records (m and z).
cudaError_t plain_key_mass(const Problem& problem, const RowArrays& rows, void* key_mass, cudaStream_t stream);

// Weights of `count` rows (indices on the device) for the keys from first_key on, real
// [batch, heads, count, n_k - first_key], likewise; dropout is not applied.
cudaError_t plain_weights(const Problem& problem, const RowArrays& rows, const std::int64_t* which, std::int64_t count,
                          std::int64_t first_key, void* weights, cudaStream_t stream);

// Statistics over key groups (isentropic/key_groups.hpp): the first keys of a row's document, the most recent ones, and
// the rest. Real [batch, heads, n_q]; a null one is not written.
struct KeyGroupArrays {
  std::int64_t first = 1, recent = 64;
  const std::int32_t* positions_in_document = nullptr;  // [batch, n_q]; null: documents begin at key 0
  void *first_mass = nullptr, *recent_mass = nullptr, *entropy_without_first = nullptr, *mean_distance = nullptr;
};

cudaError_t plain_key_groups(const Problem& problem, const KeyGroupArrays& groups, cudaStream_t stream);

}  // namespace isentropic::cuda
