// The few-query kernels, each compiled in its own file (split_instance.cu.in).
#pragma once

#include "attention/cuda/split.hpp"

namespace isentropic::cuda {

// Rows of one kv head that share each read of its keys and values.
constexpr int kSplitRows = 16;

inline std::int64_t split_row_tiles(const Problem& problem) {
  return (problem.heads / problem.kv_heads * problem.n_q + kSplitRows - 1) / kSplitRows;
}

// Blocks resident on the current device at a time; 0 without a device.
template <ElementType type, int d>
std::int64_t resident_split_blocks();

template <ElementType type, int d>
cudaError_t launch_split(const Problem& problem, const PartialRows& parts, cudaStream_t stream);

}  // namespace isentropic::cuda
