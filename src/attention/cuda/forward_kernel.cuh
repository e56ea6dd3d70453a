// The fused forward pass on tensor cores: a block of queries against blocks of keys, output and records in registers.
//
// Scores come out of the products in float32 and stay in registers: they become weights, whose sums make the record
// and which, rounded, are the left side of the product with the values. While scores are made, values travel into
// shared memory; while values are multiplied, the next keys do.
#pragma once

#include "attention/cuda/block_order.hpp"
#include "attention/cuda/forward_dropout.cuh"
#include "attention/cuda/forward_values.cuh"
#include "attention/cuda/launch.hpp"
#include "attention/cuda/running_softmax.cuh"
#include "attention/cuda/thread_block.cuh"
#include "attention/cuda/visible_keys.cuh"

namespace isentropic::cuda {

template <ElementType type>
struct Element {
  using T = __nv_bfloat16;
};
template <>
struct Element<ElementType::float16> {
  using T = __half;
};

template <ElementType type, int kWidth_, int kValueWidth_, MomentSet kMoments_, bool kExtras_>
struct ForwardShape {
  using E = typename Element<type>::T;
  static constexpr int kWidth = kWidth_, kValueWidth = kValueWidth_;  // of keys and values
  static constexpr bool kIsWide = kWidth > 128;                       // heads may then be narrower than this
  static constexpr MomentSet kMoments = kMoments_;
  static constexpr bool kExtras = kExtras_;
  static constexpr int kWarps = 4, kThreads = 32 * kWarps;
  static constexpr int kRowTiles = kValueWidth > 128 ? 1 : 2;  // of 16 rows, for each warp
  static constexpr int kRows = kWarps * kRowTiles * 16, kKeys = kWidth <= 64 ? 128 : 64;
  // Small heads leave room for the next block of keys and values while this one is used.
  static constexpr bool kTwoStages = kWidth <= 64;
  // Where the compiler then finds registers for everything else is a matter of trial.
  static constexpr bool kHighestInRegisters =
      kMoments == MomentSet::partition || (kWidth == 128 && kMoments == MomentSet::all && !kExtras);
  static constexpr int kScoreTiles = kKeys / 8, kOutputTiles = kValueWidth / 8;
  using Softmax = RunningSoftmax<kMoments, kRowTiles, kHighestInRegisters>;
  static constexpr std::uint32_t kKeysAt = kRows * kRowBytes<kWidth>;
  static constexpr std::uint32_t kValuesAt = kKeysAt + kKeys * kRowBytes<kWidth>;
  static constexpr std::uint32_t kStageBytes = kKeys * (kRowBytes<kWidth> + kRowBytes<kValueWidth>);
  static constexpr std::uint32_t kScalesAt = kKeysAt + (kTwoStages ? 2 : 1) * kStageBytes;      // lambda of the rows
  static constexpr std::uint32_t kPlaceAt = kScalesAt + kRows * sizeof(float);                  // ForwardBlock
  static constexpr std::uint32_t kDropoutAt = kPlaceAt + 64;                                    // DropoutKey
  static constexpr std::uint32_t kHighestAt = kDropoutAt + (kExtras ? sizeof(DropoutKey) : 0);  // Softmax::highest
  static constexpr int kBytes = kHighestAt + kThreads * Softmax::Highest::kBytes;
};

// The rows of a thread block and the blocks of keys that they see. It lies in shared memory: registers are short.
template <class Shape>
struct ForwardBlock {
  int b, h, kv_head, i0;
  int seen_by_all_begin, seen_by_all_end;  // keys of the band that every row sees
  int prefix, prefix_blocks, band_block, end_block;
  int end;                // of the keys that any row sees
  std::uint32_t queries;  // where they lie in shared memory

  __device__ ForwardBlock(const Problem& p, const BlockPlace& place, std::uint32_t shared)
      : b(place.b),
        h(place.h),
        kv_head(place.h / static_cast<int>(p.heads / p.kv_heads)),
        i0(place.i0),
        queries(shared) {
    const RowSpans first = spans_of(p, b, i0), last = spans_of(p, b, i0 + Shape::kRows - 1);
    prefix = first.prefix_end > first.prefix_begin ? first.prefix_end : 0;
    seen_by_all_begin = last.begin, seen_by_all_end = first.end;
    band_block = first.begin / Shape::kKeys;
    prefix_blocks = (prefix + Shape::kKeys - 1) / Shape::kKeys;
    end = max(prefix, last.end);
    end_block = (end + Shape::kKeys - 1) / Shape::kKeys;
  }

  __device__ int row_of(int t, int half) const {
    return i0 + threadIdx.x / 32 * (16 * Shape::kRowTiles) + t * 16 + half * 8 + threadIdx.x % 32 / 4;
  }
  // Blocks of the prefix and of the band are visited.
  __device__ int skip_gap(int block) const { return block >= prefix_blocks ? max(block, band_block) : block; }
  __device__ bool is_whole(int j0) const {
    return j0 + Shape::kKeys <= seen_by_all_end && (j0 >= seen_by_all_begin || j0 + Shape::kKeys <= prefix);
  }
};

template <class Shape>
using Scores = Accumulators<Shape::kRowTiles, Shape::kScoreTiles>;

// f(score, key) for those of a row that this lane holds, keys numbered from first_key_of_lane on: a comparison with one
// then takes a constant, and no register.
template <class Shape, class F>
__device__ __forceinline__ void for_each_score(Scores<Shape>& scores, int t, int half, F f) {
#pragma unroll
  for (int tile = 0; tile < Shape::kScoreTiles; ++tile)
#pragma unroll
    for (int e = 0; e < 2; ++e) f(scores[t][tile][2 * half + e], tile * 8 + e);
}

__device__ inline int first_key_of_lane(int j0) { return j0 + static_cast<int>(threadIdx.x) % 4 * 2; }

template <class Shape>
__device__ __forceinline__ void hide_keys(const Problem& p, const ForwardBlock<Shape>& at, int j0,
                                          Scores<Shape>& scores) {
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const RowSpans seen = spans_of(p, at.b, at.row_of(t, half));
      const int from = first_key_of_lane(j0);
      const int begin = seen.begin - from, end = seen.end - from;
      const int prefix_begin = seen.prefix_begin - from, prefix_end = seen.prefix_end - from;
      for_each_score<Shape>(scores, t, half, [&](float& s, int j) {
        if ((j < begin || j >= end) && (j < prefix_begin || j >= prefix_end)) s = kHidden;
      });
    }
}

// lambda, soft cap and slopes, where the maximum of the products is not that of the scores.
template <class Shape>
__device__ __forceinline__ void finish_scores(const Problem& p, const ForwardBlock<Shape>& at, int j0,
                                              const float* lambda, Scores<Shape>& scores) {
  const float cap = kLog2E * static_cast<float>(p.soft_cap);
  const float slope = Shape::kExtras && p.slopes ? kLog2E * static_cast<const float*>(p.slopes)[at.h] : 0.0f;
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float scale = lambda[at.row_of(t, half) - at.i0];
      const auto position =
          static_cast<int>(position_of(p, at.b, min(at.row_of(t, half), static_cast<int>(p.n_q) - 1)));
      const int lag = position - first_key_of_lane(j0);
      for_each_score<Shape>(scores, t, half, [&](float& s, int j) {
        s *= scale;
        if constexpr (Shape::kExtras) {
          if (cap > 0) s = cap * tanhf(s / cap);
          if (slope != 0) s -= slope * fabsf(static_cast<float>(lag - j));
        }
      });
    }
}

template <class Shape>
__device__ __forceinline__ void drop_weights(const volatile DropoutKey& key, const ForwardBlock<Shape>& at, int j0,
                                             PackedWeights<Shape::kRowTiles, Shape::kScoreTiles>& weights) {
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      drop_weights(key, at.b, at.h, at.row_of(t, half), first_key_of_lane(j0), half, weights[t]);
}

// Leaves finite values to the product.
template <class Shape>
__device__ __forceinline__ void add_infinities(const Problem& p, const ForwardBlock<Shape>& at, int j0,
                                               unsigned char* values, const volatile DropoutKey& dropout,
                                               Accumulators<Shape::kRowTiles, Shape::kOutputTiles>& output) {
  using E = typename Shape::E;
  constexpr int kBytes = Shape::kKeys * kRowBytes<Shape::kValueWidth>;
  if (!block_has_infinities<E, kBytes, Shape::kThreads>(values)) return;
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = at.row_of(t, half);
      const RowSpans spans = spans_of(p, at.b, i);
      const auto is_added = [&](int key) {
        if (Shape::kExtras && p.dropout > 0 && !is_kept(dropout, at.b, at.h, i, j0 + key)) return false;
        return holds(spans, j0 + key);
      };
      add_infinities_of_row<E, Shape::kKeys>(values, is_added, half, output[t]);
    }
  clear_infinities_of_block<E, kBytes, Shape::kThreads>(values);
}

template <class Shape>
__device__ __forceinline__ void write_rows(const Problem& p, const ForwardOutput& out, const ForwardBlock<Shape>& at,
                                           typename Shape::Softmax& softmax,
                                           const Accumulators<Shape::kRowTiles, Shape::kOutputTiles>& output) {
  using E = typename Shape::E;
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const SoftmaxRecord<float> record = softmax.record(t, half);
      const float z = row_sum(softmax.sums[t][half].z), reference = softmax.reference(t, half);
      const std::int64_t i = at.row_of(t, half);
      if (i >= p.n_q) continue;
      if (threadIdx.x % 4 == 0) {
        const std::int64_t row = (at.b * p.heads + at.h) * p.n_q + i;
        const auto write = [&](void* to, float x) {
          if (to) static_cast<float*>(to)[row] = x;
        };
        write(out.rows.m, record.m);
        write(out.rows.z, record.sums.z);
        if constexpr (Shape::kMoments != MomentSet::partition) write(out.rows.u, record.sums.u);
        if constexpr (Shape::kMoments == MomentSet::all)
          write(out.rows.w, record.sums.w), write(out.rows.c, record.sums.c);
      }
      if (!out.output) continue;
      const float sink = p.sink ? exp2_fast(static_cast<const float*>(p.sink)[at.h] * kLog2E - reference) : 0.0f;
      float inverse = z == 0 ? 0.0f : 1.0f / (z + sink);
      if constexpr (Shape::kExtras) inverse *= static_cast<float>(1 / (1 - p.dropout));
      E* to = static_cast<E*>(out.output) + at.b * out.output_stride.batch + at.h * out.output_stride.head +
              i * out.output_stride.row;
#pragma unroll
      for (int tile = 0; tile < Shape::kOutputTiles; ++tile)
        if (!Shape::kIsWide || tile * 8 < p.d_v)
          *reinterpret_cast<std::uint32_t*>(to + tile * 8 + threadIdx.x % 4 * 2) =
              pack<E>(output[t][tile][2 * half] * inverse, output[t][tile][2 * half + 1] * inverse);
    }
}

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 2)
    forward_kernel(const __grid_constant__ Problem p, const __grid_constant__ ForwardOutput out,
                   const __grid_constant__ BlockOrder order) {
  using E = typename Shape::E;
  if (p.active && *p.active == 0) return;
  unsigned char* const shared = block_memory();
  auto* const lambda = reinterpret_cast<float*>(shared + Shape::kScalesAt);
  auto& at = *reinterpret_cast<ForwardBlock<Shape>*>(shared + Shape::kPlaceAt);
  auto& dropout = *reinterpret_cast<DropoutKey*>(shared + Shape::kDropoutAt);  // with extras
  {
    const BlockPlace place = order.place(blockIdx.x);
    const E* from = static_cast<const E*>(p.query) + place.b * p.query_stride.batch + place.h * p.query_stride.head;
    copy_rows<Shape::kWidth, Shape::kRows, Shape::kThreads>(shared_address(shared), from, p.query_stride.row, place.i0,
                                                            p.n_q,
                                                            Shape::kIsWide ? static_cast<int>(p.d) : Shape::kWidth);
    if (threadIdx.x == 0) at = ForwardBlock<Shape>(p, place, shared_address(shared));
    if (Shape::kExtras && threadIdx.x == 0) dropout = DropoutKey::of(p);
  }
  __syncthreads();
  const auto copy_block = [&]<int kWidth>(std::integral_constant<int, kWidth>, std::uint32_t to, const void* all,
                                          const Strides& stride, std::int64_t width, int block) {
    const E* from = static_cast<const E*>(all) + at.b * stride.batch + at.kv_head * stride.head;
    if (block < at.end_block)
      copy_rows<kWidth, Shape::kKeys, Shape::kThreads>(to, from, stride.row, block * Shape::kKeys, at.end,
                                                       Shape::kIsWide ? static_cast<int>(width) : kWidth);
  };
  const auto copy_keys = [&](int block, std::uint32_t stage) {
    copy_block(std::integral_constant<int, Shape::kWidth>(), at.queries + Shape::kKeysAt + stage, p.key, p.key_stride,
               p.d, block);
  };
  const auto copy_values = [&](int block, std::uint32_t stage) {
    if (out.output)
      copy_block(std::integral_constant<int, Shape::kValueWidth>(), at.queries + Shape::kValuesAt + stage, p.value,
                 p.value_stride, p.d_v, block);
  };
  const auto arrive = [] {
    wait_for_copies<0>();
    __syncthreads();
  };

  int block = at.skip_gap(0);
  std::uint32_t stage = 0;
  copy_keys(block, stage);
  if constexpr (Shape::kTwoStages) copy_values(block, stage);
  commit_copies();

  bool falling = false;
  if (threadIdx.x < Shape::kRows) {
    const std::int64_t i = min(std::int64_t{at.i0} + threadIdx.x, p.n_q - 1);
    const float scale = p.scales ? static_cast<const float*>(p.scales)[(at.b * p.heads + at.h) * p.n_q + i]
                                 : static_cast<float>(p.scale);
    lambda[threadIdx.x] = kLog2E * scale;
    falling = !(kLog2E * scale > 1e-20f);
  }
  const bool finishes_first = __syncthreads_or(falling) || Shape::kExtras;

  typename Shape::Softmax softmax(shared + Shape::kHighestAt);
  Accumulators<Shape::kRowTiles, Shape::kOutputTiles> output;
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int tile = 0; tile < Shape::kOutputTiles; ++tile)
#pragma unroll
      for (int e = 0; e < 4; ++e) output[t][tile][e] = 0;

  while (block < at.end_block) {
    const int j0 = block * Shape::kKeys;
    const std::uint32_t here = stage;
    block = at.skip_gap(block + 1);
    arrive();
    if constexpr (Shape::kTwoStages) {
      stage ^= Shape::kStageBytes;
      copy_keys(block, stage);
    }
    copy_values(Shape::kTwoStages ? block : j0 / Shape::kKeys, stage);
    commit_copies();
    Scores<Shape> scores;
    multiply_rows<E, Shape::kWidth>(at.queries, threadIdx.x / 32 * (16 * Shape::kRowTiles),
                                    at.queries + Shape::kKeysAt + here, scores);
    if constexpr (!Shape::kTwoStages) arrive();
    float factor[Shape::kRowTiles][2];
    if (finishes_first) finish_scores<Shape>(p, at, j0, lambda, scores);
#pragma unroll
    for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) factor[t][half] = finishes_first ? 1.0f : lambda[at.row_of(t, half) - at.i0];
    if (!at.is_whole(j0)) hide_keys<Shape>(p, at, j0, scores);
    PackedWeights<Shape::kRowTiles, Shape::kScoreTiles> weights;
    softmax.template fold<E>(scores, factor, weights, output);
    if constexpr (!Shape::kTwoStages) {
      copy_keys(block, stage);
      commit_copies();
    }
    if (!out.output) continue;
    bool adds_all = at.is_whole(j0);
    if constexpr (Shape::kExtras) {
      if (p.dropout > 0) drop_weights<Shape>(dropout, at, j0, weights), adds_all = false;
    }
    if (!adds_all) add_infinities<Shape>(p, at, j0, shared + Shape::kValuesAt + here, dropout, output);
    add_values<E, Shape::kValueWidth>(weights, at.queries + Shape::kValuesAt + here, output);
  }
  write_rows<Shape>(p, out, at, softmax, output);
}

template <ElementType type, int d, int d_v, MomentSet moments, bool extras>
cudaError_t launch_forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  using Shape = ForwardShape<type, d, d_v, moments, extras>;
  static_assert(Shape::kBytes <= 99 << 10, "what a thread block can have on every GPU");
  const BlockOrder order(problem, Shape::kRows);
  return launch_kernel(forward_kernel<Shape>, order.grid(), Shape::kThreads, Shape::kBytes, stream, problem, output,
                       order);
}

}  // namespace isentropic::cuda
