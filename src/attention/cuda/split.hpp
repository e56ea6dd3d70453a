// Few queries and many keys (decoding): keys split over the device, partial rows, and their merge.
//
// A partial row is its record and, unnormalised, its output: sum_j e^{s_j - m} v_j. A part without keys has the empty
// record (m = -inf, z = 0), and its output is not read.
#pragma once

#include <cstddef>

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// Of `parts` parts: arrays [parts, batch, heads, n_q], real; output [parts, batch, heads, n_q, d_v], real, at a
// multiple of 16 bytes.
struct PartialRows {
  std::int64_t parts = 0;
  RowArrays rows;
  void* output = nullptr;
};

// Whether the kernel for few rows takes the problem and is worth it.
bool has_split_forward(const Problem& problem);
// Bytes, for the current device; workspaces lie at multiples of 256.
std::size_t split_workspace(const Problem& problem);
cudaError_t split_forward(const Problem& problem, const ForwardOutput& output, void* workspace, cudaStream_t stream);

// Parts that split_forward chooses: as many as fill the current device.
std::int64_t split_parts(const Problem& problem);
// What split_forward does before the merge, in any number of parts; the sink is left out. The keys that rows see are
// dealt out evenly, in their order. An array or output that is null is not written. Takes what has_split_forward takes,
// worth it or not.
cudaError_t split_partials(const Problem& problem, const PartialRows& parts, cudaStream_t stream);

// Merges the parts, in their order; normalises with the sink. Any type and sizes; of the parts, m and z must be there.
cudaError_t merge_parts(const Problem& problem, const PartialRows& parts, const ForwardOutput& output,
                        cudaStream_t stream);

}  // namespace isentropic::cuda
