// Compile-time parameters of a backward kernel, and its shared-memory layout.
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
  static constexpr int kD = kD_, kValueD = backward_value_width(kD), kQueries = kSize.queries, kKeys = kSize.keys;
  static constexpr bool kWide = kTile == BackwardTile::wide;
  static constexpr int kKeyBytes = kKeys * kD * 2, kQueryBytes = kQueries * kD * 2, kScoreBytes = kQueries * kKeys * 2;
  static constexpr int kValueBytes = kKeys * kValueD * 2, kOutputBytes = kQueries * kValueD * 2;
  static constexpr int kConstantBytes = kBackwardRowBytes * kQueries;
  // As many buffers of output gradients as fit into shared memory.
  static constexpr int kOutputBuffers =
      (kSize.shared_bytes - kKeyBytes - kValueBytes - 2 * kQueryBytes - 2 * kScoreBytes - kConstantBytes) /
      kOutputBytes;
  // Offsets in shared memory.
  static constexpr int kValuesAt = kKeyBytes, kQueriesAt = kValuesAt + kValueBytes;
  static constexpr int kOutputsAt = kQueriesAt + 2 * kQueryBytes;
  static constexpr int kWeightsAt = kOutputsAt + kOutputBuffers * kOutputBytes;
  static constexpr int kGradientsAt = kWeightsAt + kScoreBytes, kConstantsAt = kGradientsAt + kScoreBytes;
  static constexpr int kSumsAt = kConstantsAt + kConstantBytes, kLeakAt = kSumsAt + 32;
};

}  // namespace isentropic::cuda
