// The fused forward pass on tensor cores: a block of queries against blocks of keys, output and records in registers.
//
// Scores come out of the products in float32 and stay in registers: they become weights, whose sums make up the record
// and which, rounded, are the left operand of the product with the values. Values are copied to shared memory while
// scores are computed, and the next keys while values are multiplied.
#pragma once

#include "attention/cuda/forward_dropout.cuh"
#include "attention/cuda/forward_groups.cuh"
#include "attention/cuda/forward_scores.cuh"
#include "attention/cuda/forward_values.cuh"
#include "attention/cuda/launch.hpp"
#include "attention/cuda/thread_block.cuh"

namespace isentropic::cuda {

template <ElementType type, int kWidth_, int kValueWidth_, MomentSet kMoments_, ForwardTerms kTerms>
struct ForwardShape {
  using E = typename Element<type>::T;
  static constexpr int kWidth = kWidth_, kValueWidth = kValueWidth_;  // keys; values
  static constexpr bool kIsWide = kWidth > 128;                       // narrower heads then fit too
  static constexpr MomentSet kMoments = kMoments_;
  static constexpr bool kDense = kTerms == ForwardTerms::dense, kExtras = kDense || kTerms == ForwardTerms::extras;
  static constexpr bool kHasGroups = kTerms == ForwardTerms::groups;
  static constexpr int kWarps = 4, kThreads = 32 * kWarps;
  static constexpr int kRowTiles = kValueWidth > 128 || (kDense && kWidth > 64) ? 1 : 2;  // 16-row tiles per warp
  static constexpr int kRows = kWarps * kRowTiles * 16, kKeys = kWidth > 64 || kDense ? 64 : kHasGroups ? 96 : 128;
  // Small heads leave room to double-buffer keys and values.
  static constexpr bool kTwoStages = kWidth <= 64;
  // A second, shorter way to hide keys pays off as long as it causes no spills; found by trial.
  static constexpr bool kHidesByEnd = kMoments == MomentSet::entropy;
  // Only where this causes no spills; found by trial.
  static constexpr bool kHighestInRegisters =
      kMoments == MomentSet::partition || (kWidth == 128 && kMoments == MomentSet::all && kTerms == ForwardTerms::none);
  static constexpr int kScoreTiles = kKeys / 8, kOutputTiles = kValueWidth / 8;
  using Softmax = RunningSoftmax<kMoments, kRowTiles, kHighestInRegisters, kHasGroups>;
  using Counts = LaneNumbers<kRowTiles, false>;  // number of keys each lane has seen
  using Groups = GroupedRows<kRows, FirstSums>;
  static constexpr std::uint32_t kKeysAt = kRows * kRowBytes<kWidth>;
  static constexpr std::uint32_t kValuesAt = kKeysAt + kKeys * kRowBytes<kWidth>;
  static constexpr std::uint32_t kStageBytes = kKeys * (kRowBytes<kWidth> + kRowBytes<kValueWidth>);
  static constexpr std::uint32_t kScalesAt = kKeysAt + (kTwoStages ? 2 : 1) * kStageBytes;       // lambda of the rows
  static constexpr std::uint32_t kPlaceAt = kScalesAt + kRows * sizeof(float);                   // ForwardBlock
  static constexpr std::uint32_t kDropoutAt = kPlaceAt + 64;                                     // DropoutKey
  static constexpr std::uint32_t kHighestAt = kDropoutAt + (kExtras ? sizeof(DropoutKey) : 0);   // Softmax::highest
  static constexpr std::uint32_t kColumnsAt = kHighestAt + kThreads * Softmax::Highest::kBytes;  // Softmax::columns
  static constexpr std::uint32_t kCountsAt = kColumnsAt + kThreads * Softmax::Columns::kBytes;
  static constexpr std::uint32_t kGroupsAt = kCountsAt + (kDense ? kThreads * Counts::kBytes : 0);
  static constexpr int kBytes = kGroupsAt + (kHasGroups ? sizeof(Groups) : 0);
};

// Counts the visible keys of a block.
template <class Shape>
__device__ __forceinline__ void count_keys(Scores<Shape>& scores, typename Shape::Counts& counts) {
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int seen = 0;
      for_each_score<Shape>(scores, t, half, [&](float& s, int) { seen += s == kHidden ? 0 : 1; });
      counts.at(t, half) += static_cast<float>(seen);
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

// Adds infinite and NaN values to the output directly, and leaves the finite ones to the product.
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
        if (!holds(spans, j0 + key)) return false;
        return !Shape::kDense || !has_tests(p) || i >= p.n_q ||
               passes_tests(p, at.b, at.h, i, position_of(p, at.b, i), j0 + key);
      };
      add_infinities_of_row<E, Shape::kKeys>(values, is_added, half, output[t]);
    }
  clear_infinities_of_block<E, kBytes, Shape::kThreads>(values);
}

template <class Shape>
__device__ __forceinline__ void write_rows(const Problem& p, const ForwardOutput& out, const ForwardBlock<Shape>& at,
                                           typename Shape::Softmax& softmax, typename Shape::Counts& counts,
                                           const Accumulators<Shape::kRowTiles, Shape::kOutputTiles>& output) {
  using E = typename Shape::E;
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const SoftmaxRecord<float> record = softmax.record(t, half);
      const float z = row_sum(softmax.sums[t][half].z), reference = softmax.reference(t, half);
      const std::int64_t i = at.row_of(t, half);
      const float seen = Shape::kDense && out.rows.k ? row_sum(counts.at(t, half)) : 0.0f;
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
        if (Shape::kDense && out.rows.k) out.rows.k[row] = static_cast<std::int64_t>(seen);
      }
      if (!out.output) continue;
      const float sink = p.sink ? exp2_fast(static_cast<const float*>(p.sink)[at.h] * kLog2E - reference) : 0.0f;
      float inverse = z == 0 ? 0.0f : 1.0f / (z + sink);
      if constexpr (Shape::kExtras) inverse *= static_cast<float>(1 / (1 - p.dropout));
      const std::int64_t to = at.b * out.output_stride.batch + at.h * out.output_stride.head +
                              i * out.output_stride.row + threadIdx.x % 4 * 2;
#pragma unroll
      for (int tile = 0; tile < Shape::kOutputTiles; ++tile) {
        if (Shape::kIsWide && tile * 8 >= p.d_v) continue;
        const float2 both = {output[t][tile][2 * half] * inverse, output[t][tile][2 * half + 1] * inverse};
        if (out.real_output)
          *reinterpret_cast<float2*>(static_cast<float*>(out.output) + to + tile * 8) = both;
        else
          *reinterpret_cast<std::uint32_t*>(static_cast<E*>(out.output) + to + tile * 8) = pack<E>(both.x, both.y);
      }
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
  auto& dropout = *reinterpret_cast<DropoutKey*>(shared + Shape::kDropoutAt);            // with extras
  auto& groups = *reinterpret_cast<typename Shape::Groups*>(shared + Shape::kGroupsAt);  // with groups
  {
    const BlockPlace place = order.place(blockIdx.x);
    const E* from = static_cast<const E*>(p.query) + place.b * p.query_stride.batch + place.h * p.query_stride.head;
    copy_rows<Shape::kWidth, Shape::kRows, Shape::kThreads>(shared_address(shared), from, p.query_stride.row, place.i0,
                                                            p.n_q,
                                                            Shape::kIsWide ? static_cast<int>(p.d) : Shape::kWidth);
    if (threadIdx.x == 0) at = ForwardBlock<Shape>(p, place, shared_address(shared));
    if (Shape::kExtras && threadIdx.x == 0) dropout = DropoutKey::of(p);
    if constexpr (Shape::kHasGroups) groups.find(p, out.groups, place.b, place.i0);
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

  typename Shape::Softmax softmax(shared + Shape::kHighestAt, shared + Shape::kColumnsAt);
  typename Shape::Counts counts(shared + Shape::kCountsAt);
  if constexpr (Shape::kDense) clear(counts);
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
    if (!at.is_whole(j0)) {
      if (Shape::kHidesByEnd && at.prefix == 0 && j0 >= at.seen_by_all_begin)
        hide_keys_beyond<Shape>(p, at, j0, scores);
      else
        hide_keys<Shape>(p, at, j0, scores);
    }
    PackedWeights<Shape::kRowTiles, Shape::kScoreTiles> weights;
    if constexpr (Shape::kDense) {
      if (out.rows.k) count_keys<Shape>(scores, counts);
    }
    softmax.follow(scores, factor, output);
    if (Shape::kHasGroups && (groups.has_first(j0) || groups.has_recent(j0, j0 + Shape::kKeys)))
      weigh_with_groups<Shape>(groups, at.row_of(0, 0) - at.i0, j0, scores, factor, softmax, weights);
    else
      softmax.template weigh<E>(scores, factor, weights);
    if constexpr (Shape::kHasGroups) softmax.move_columns(block * Shape::kKeys - j0);
    if constexpr (!Shape::kTwoStages) {
      copy_keys(block, stage);
      commit_copies();
    }
    if (!out.output) continue;
    bool adds_all = at.is_whole(j0) && !(Shape::kDense && has_tests(p));
    if constexpr (Shape::kExtras) {
      if (p.dropout > 0) drop_weights<Shape>(dropout, at, j0, weights), adds_all = false;
    }
    if (!adds_all) add_infinities<Shape>(p, at, j0, shared + Shape::kValuesAt + here, dropout, output);
    add_values<E, Shape::kValueWidth>(weights, at.queries + Shape::kValuesAt + here, output);
  }
  if constexpr (Shape::kHasGroups)
    finish_groups<Shape>(p, out.groups, at, groups, first_key_of_lane(block * Shape::kKeys), softmax);
  write_rows<Shape>(p, out, at, softmax, counts, output);
}

template <ElementType type, int d, int d_v, MomentSet moments, ForwardTerms terms>
cudaError_t launch_forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  using Shape = ForwardShape<type, d, d_v, moments, terms>;
  static_assert(!Shape::kHasGroups || Shape::kRows == kForwardRows);
  static_assert(Shape::kBytes <= 99 << 10, "what a thread block can have on every GPU");
  const BlockOrder order(problem, Shape::kRows);
  return launch_kernel(forward_kernel<Shape>, order.grid(), Shape::kThreads, Shape::kBytes, stream, problem, output,
                       order);
}

}  // namespace isentropic::cuda
