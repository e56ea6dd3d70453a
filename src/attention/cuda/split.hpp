// Few queries and many keys (decoding): keys split across the device, partial rows, and their merge.
//
// A partial row is its record and its unnormalised output, sum_j e^{s_j - m} v_j. A part without keys has the empty
// record (m = -inf, z = 0), and its output is not read.
#pragma once

#include <cstddef>

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// `parts` parts: arrays [parts, batch, heads, n_q]; output [parts, batch, heads, n_q, d_v], 16-byte aligned; all real.
struct PartialRows {
  std::int64_t parts = 0;
  RowArrays rows;
  void* output = nullptr;
};

// Whether the kernel for few rows supports the problem and is worth using.
bool has_split_forward(const Problem& problem);
// Bytes, for the current device; workspaces are aligned to 256.
std::size_t split_workspace(const Problem& problem);
cudaError_t split_forward(const Problem& problem, const ForwardOutput& output, void* workspace, cudaStream_t stream);

// The number of parts split_forward chooses: as many as fill the current device.
std::int64_t split_parts(const Problem& problem);
// split_forward without the merge, in any number of parts; the sink is omitted. The keys that rows see are divided
// evenly, in order. Null arrays and a null output are not written. Supports what has_split_forward does, whether or not
// it is worth it.
cudaError_t split_partials(const Problem& problem, const PartialRows& parts, cudaStream_t stream);

// Merges the parts in order; normalises with the sink. Any type and sizes; m and z of the parts are required.
cudaError_t merge_parts(const Problem& problem, const PartialRows& parts, const ForwardOutput& output,
                        cudaStream_t stream);

}  // namespace isentropic::cuda
