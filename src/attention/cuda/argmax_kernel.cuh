// Row argmaxes on tensor cores: a block of queries against blocks of keys, as in the forward pass, without weights and
// values. Scores are bit-identical to those of the forward pass.
#pragma once

#include "attention/cuda/argmax.hpp"
#include "attention/cuda/forward_scores.cuh"
#include "attention/cuda/thread_block.cuh"

namespace isentropic::cuda {

template <ElementType type, int kWidth_>
struct ArgmaxShape {
  using E = typename Element<type>::T;
  static constexpr int kWidth = kWidth_;
  static constexpr bool kExtras = true, kDense = true;
  static constexpr int kWarps = 4, kThreads = 32 * kWarps, kRowTiles = 2;  // 16-row tiles per warp
  static constexpr int kRows = kWarps * kRowTiles * 16, kKeys = 64, kScoreTiles = kKeys / 8;
  static constexpr std::uint32_t kKeyBytes = kKeys * kRowBytes<kWidth>;
  static constexpr std::uint32_t kKeysAt = kRows * kRowBytes<kWidth>;
  static constexpr std::uint32_t kScalesAt = kKeysAt + 2 * kKeyBytes;           // lambda of the rows
  static constexpr std::uint32_t kPlaceAt = kScalesAt + kRows * sizeof(float);  // ForwardBlock
  static constexpr int kBytes = kPlaceAt + 64;
  static_assert(kBytes <= 99 << 10, "what a thread block can have on every GPU");
};

// The highest score this lane has seen in a row, and its key.
struct Highest {
  float score;
  int key;

  __device__ void take(float s, int j) {
    if (s > score) score = s, key = j;
  }
  __device__ Highest of_row() const {
    Highest out = *this;
#pragma unroll
    for (int mask = 1; mask <= 2; mask *= 2) {
      const float s = __shfl_xor_sync(0xffffffffu, out.score, mask);
      const int j = __shfl_xor_sync(0xffffffffu, out.key, mask);
      if (s > out.score || (s == out.score && j >= 0 && (out.key < 0 || j < out.key))) out = {s, j};
    }
    return out;
  }
};

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 2)
    argmax_kernel(const __grid_constant__ Problem p, std::int64_t* places, const __grid_constant__ BlockOrder order) {
  using E = typename Shape::E;
  unsigned char* const shared = block_memory();
  auto* const lambda = reinterpret_cast<float*>(shared + Shape::kScalesAt);
  auto& at = *reinterpret_cast<ForwardBlock<Shape>*>(shared + Shape::kPlaceAt);
  const BlockPlace place = order.place(blockIdx.x);
  if (threadIdx.x == 0) at = ForwardBlock<Shape>(p, place, shared_address(shared));
  const std::int64_t i = min(std::int64_t{place.i0} + threadIdx.x, p.n_q - 1);
  lambda[threadIdx.x] =
      kLog2E * (p.scales ? static_cast<const float*>(p.scales)[(place.b * p.heads + place.h) * p.n_q + i]
                         : static_cast<float>(p.scale));
  __syncthreads();
  const E* queries = static_cast<const E*>(p.query) + at.b * p.query_stride.batch + at.h * p.query_stride.head;
  copy_rows<Shape::kWidth, Shape::kRows, Shape::kThreads>(at.queries, queries, p.query_stride.row, at.i0, p.n_q);
  const auto copy_keys = [&](int block, std::uint32_t stage) {
    const E* from = static_cast<const E*>(p.key) + at.b * p.key_stride.batch + at.kv_head * p.key_stride.head;
    if (block < at.end_block)
      copy_rows<Shape::kWidth, Shape::kKeys, Shape::kThreads>(at.queries + Shape::kKeysAt + stage, from,
                                                              p.key_stride.row, block * Shape::kKeys, at.end);
    commit_copies();
  };
  Highest highest[Shape::kRowTiles][2];
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) highest[t][half] = {kHidden, -1};

  int block = at.skip_gap(0);
  std::uint32_t stage = 0;
  copy_keys(block, stage);
  while (block < at.end_block) {
    const int j0 = block * Shape::kKeys;
    const std::uint32_t here = stage;
    block = at.skip_gap(block + 1);
    wait_for_copies<0>();
    __syncthreads();
    stage ^= Shape::kKeyBytes;
    copy_keys(block, stage);
    Scores<Shape> scores;
    multiply_rows<E, Shape::kWidth>(at.queries, threadIdx.x / 32 * (16 * Shape::kRowTiles),
                                    at.queries + Shape::kKeysAt + here, scores);
    finish_scores<Shape>(p, at, j0, lambda, scores);
    if (!at.is_whole(j0)) hide_keys<Shape>(p, at, j0, scores);
    const int first = first_key_of_lane(j0);
#pragma unroll
    for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        for_each_score<Shape>(scores, t, half, [&](float& s, int j) { highest[t][half].take(s, first + j); });
  }
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Highest found = highest[t][half].of_row();
      const std::int64_t row = at.row_of(t, half);
      if (row < p.n_q && threadIdx.x % 4 == 0) places[(at.b * p.heads + at.h) * p.n_q + row] = found.key;
    }
}

template <ElementType type, int d>
cudaError_t launch_argmax(const Problem& problem, std::int64_t* places, cudaStream_t stream) {
  using Shape = ArgmaxShape<type, d>;
  static_assert(Shape::kThreads == Shape::kRows, "a thread writes the scale of a row");
  const BlockOrder order(problem, Shape::kRows);
  return launch_kernel(argmax_kernel<Shape>, order.grid(), Shape::kThreads, Shape::kBytes, stream, problem, places,
                       order);
}

}  // namespace isentropic::cuda
