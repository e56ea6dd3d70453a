// The number of blocks of a few-query kernel resident on a device, and its launch.
#pragma once

#include <array>
#include <atomic>
#include <limits>

#include "attention/cuda/split_kernel.cuh"

namespace isentropic::cuda {

// Queried once per device.
template <ElementType type, int d>
std::int64_t resident_split_blocks() {
  using Shape = SplitShape<type, d>;
  static std::array<std::atomic<int>, 64> known = {};
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 0;
  std::atomic<int>* const cached = device < static_cast<int>(known.size()) ? &known[device] : nullptr;
  if (cached && *cached > 0) return *cached;
  int processors = 0, blocks = 0;
  if (cudaFuncSetAttribute(split_kernel<Shape>, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kBytes) !=
          cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, split_kernel<Shape>, Shape::kThreads, Shape::kBytes) !=
          cudaSuccess)
    return 0;
  if (cached) *cached = processors * blocks;
  return processors * blocks;
}

template <ElementType type, int d>
cudaError_t launch_split(const Problem& problem, const PartialRows& parts, cudaStream_t stream) {
  using Shape = SplitShape<type, d>;
  const std::int64_t blocks = problem.batch * problem.kv_heads * split_row_tiles(problem) * parts.parts;
  if (blocks > std::numeric_limits<std::int32_t>::max()) return cudaErrorInvalidConfiguration;
  return launch_kernel(split_kernel<Shape>, static_cast<unsigned>(blocks), Shape::kThreads, Shape::kBytes, stream,
                       problem, parts);
}

}  // namespace isentropic::cuda
