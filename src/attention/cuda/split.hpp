// Few queries and many keys (decoding): keys split over the device, partial rows, and their merge.
//
// A partial row is its record and, unnormalised, its output: sum_j e^{s_j - m} v_j.
#pragma once

#include <cstddef>

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// Of `parts` parts: arrays [parts, batch, heads, n_q], real; output [parts, batch, heads, n_q, d_v], real.
struct PartialRows {
  std::int64_t parts = 0;
  RowArrays rows;
  void* output = nullptr;
};

// Whether the kernel for few rows takes the problem and is worth it.
bool has_split_forward(const Problem& problem);
std::size_t split_workspace(const Problem& problem);
cudaError_t split_forward(const Problem& problem, const ForwardOutput& output, void* workspace, cudaStream_t stream);

// Merges the parts, in their order; normalises with the sink.
cudaError_t merge_parts(const Problem& problem, const PartialRows& parts, const ForwardOutput& output,
                        cudaStream_t stream);

}  // namespace isentropic::cuda
