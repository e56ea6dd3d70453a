// What a kernel of the backward pass is compiled for, and where things lie in its shared memory.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "attention/cuda/launch_backward.hpp"

namespace isentropic::cuda {

template <ElementType type, int kD_, BackwardTerms kTerms_, BackwardTile kTile>
struct BackwardShape {
  using E = std::conditional_t<type == ElementType::bfloat16, __nv_bfloat16, __half>;
  static constexpr BackwardTerms kTerms = kTerms_;
  static constexpr BackwardTileSize kSize = backward_tile_size(kD_, kTile);
  static constexpr int kD = kD_, kQueries = kSize.queries, kKeys = kSize.keys;
  static constexpr int kKeyBytes = kKeys * kD * 2, kQueryBytes = kQueries * kD * 2, kScoreBytes = kQueries * kKeys * 2;
  static constexpr int kConstantBytes = 40 * kQueries;
  // Blocks of output gradients in shared memory: what it has room for.
  static constexpr int kOutputBuffers =
      (kSize.shared_bytes - 2 * kKeyBytes - 2 * kQueryBytes - 2 * kScoreBytes - kConstantBytes) / kQueryBytes;
  // Where things lie.
  static constexpr int kValuesAt = kKeyBytes, kQueriesAt = 2 * kKeyBytes, kOutputsAt = kQueriesAt + 2 * kQueryBytes;
  static constexpr int kWeightsAt = kOutputsAt + kOutputBuffers * kQueryBytes;
  static constexpr int kGradientsAt = kWeightsAt + kScoreBytes, kConstantsAt = kGradientsAt + kScoreBytes;
  static constexpr int kSumsAt = kConstantsAt + kConstantBytes, kLeakAt = kSumsAt + 32;
};

}  // namespace isentropic::cuda
