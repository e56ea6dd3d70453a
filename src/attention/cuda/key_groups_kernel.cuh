// Key groups on tensor cores: a block of queries against blocks of keys, as in the forward pass, without values.
//
// The running sums cover all keys but the first ones, so that these cannot drown out the others. The few blocks of keys
// that contain first or recent keys of some row also sum these separately.
#pragma once

#include "attention/cuda/forward_scores.cuh"
#include "attention/cuda/key_groups_launch.hpp"
#include "attention/cuda/key_groups_rows.cuh"
#include "attention/cuda/launch.hpp"
#include "attention/cuda/thread_block.cuh"

namespace isentropic::cuda {

template <ElementType type, int kWidth_>
struct KeyGroupsShape {
  using E = typename Element<type>::T;
  static constexpr int kWidth = kWidth_;
  static constexpr bool kExtras = true, kDense = true;
  static constexpr int kWarps = 4, kThreads = 32 * kWarps, kRowTiles = 2;  // 16-row tiles per warp
  static constexpr int kRows = kWarps * kRowTiles * 16, kKeys = 64, kScoreTiles = kKeys / 8;
  using Softmax = RunningSoftmax<MomentSet::entropy, kRowTiles, true, true>;
  using Rows = GroupedRows<kRows, GroupSums>;
  static constexpr std::uint32_t kKeyBytes = kKeys * kRowBytes<kWidth>;
  static constexpr std::uint32_t kKeysAt = kRows * kRowBytes<kWidth>;
  static constexpr std::uint32_t kScalesAt = kKeysAt + 2 * kKeyBytes;           // lambda of the rows
  static constexpr std::uint32_t kPlaceAt = kScalesAt + kRows * sizeof(float);  // ForwardBlock
  static constexpr std::uint32_t kRowsAt = kPlaceAt + 64;
  static constexpr std::uint32_t kColumnsAt = kRowsAt + sizeof(Rows);  // Softmax::columns
  static constexpr int kBytes = kColumnsAt + kThreads * Softmax::Columns::kBytes;
};

// Calls f(score, key) for this lane's scores of a row.
template <class Shape, class F>
__device__ __forceinline__ void for_each_key(Scores<Shape>& scores, int t, int half, int j0, F f) {
  const int first = first_key_of_lane(j0);
  for_each_score<Shape>(scores, t, half, [&](float& s, int j) { f(s, first + j); });
}

// Sums the keys of a row in the block at j0 for which `belongs` holds; the same on the row's four lanes.
template <class Shape, class Belongs>
__device__ __forceinline__ GroupSums sum_group(Scores<Shape>& scores, int t, int half, int j0, int position,
                                               Belongs belongs) {
  GroupSums out;
  for_each_key<Shape>(scores, t, half, j0, [&](float& s, int j) {
    if (s != kHidden && belongs(j)) out.m = fmaxf(out.m, s);
  });
  out.m = row_max(out.m);
  const float reference = out.reference();
  for_each_key<Shape>(scores, t, half, j0, [&](float& s, int j) {
    if (s == kHidden || !belongs(j)) return;
    const float weight = exp2_fast(s - reference);
    out.z += weight;
    out.distance = fmaf(weight, static_cast<float>(position - j), out.distance);
  });
  out.z = row_sum(out.z), out.distance = row_sum(out.distance);
  return out;
}

// Sums the groups separately, and hides the first keys from the running sums.
template <class Shape>
__device__ __forceinline__ void take_groups(typename Shape::Rows& rows, int first_row, int j0, Scores<Shape>& scores) {
  const bool has_first = rows.has_first(j0), has_recent = rows.has_recent(j0, j0 + Shape::kKeys);
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + t * 16 + half * 8;
      const int first_end = rows.first_end[row], position = rows.position[row];
      const bool writes = threadIdx.x % 4 == 0;
      if (has_recent) {
        const int begin = rows.begin_of_recent(row);
        const GroupSums found =
            sum_group<Shape>(scores, t, half, j0, position, [&](int j) { return j >= begin && j <= position; });
        if (writes) rows.recent_sums[row].merge(found);
      }
      if (!has_first) continue;
      const GroupSums found = sum_group<Shape>(scores, t, half, j0, position, [&](int j) { return j < first_end; });
      if (writes) rows.first_sums[row].merge(found);
      for_each_key<Shape>(scores, t, half, j0, [&](float& s, int j) {
        if (j < first_end) s = kHidden;
      });
    }
}

// first_key: the origin of the column numbers in the lane's sums.
template <class Shape>
__device__ void write_groups(const Problem& p, const KeyGroupArrays& out, const ForwardBlock<Shape>& at,
                             const typename Shape::Rows& rows, int first_key, typename Shape::Softmax& softmax) {
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      SoftmaxRecord<float> kept = softmax.record(t, half);
      const int i = at.row_of(t, half), row = i - at.i0;
      const GroupSums sums = row_of_lanes(softmax.sums[t][half].z, softmax.columns.at(t, half),
                                          softmax.reference(t, half), rows.position[row], first_key);
      if (i >= p.n_q || threadIdx.x % 4 != 0) continue;
      // Keys that are tested one by one are not counted, so their entropy is not clamped to log k.
      if (!has_tests(p)) kept.k = count_without_first(spans_of(p, at.b, i), rows.first_end[row]);
      write_key_groups(out, (at.b * p.heads + at.h) * p.n_q + i, rows.first_sums[row], rows.recent_sums[row], sums,
                       kept);
    }
}

template <class Shape>
__device__ void key_groups_block(const Problem& p, const KeyGroupArrays& out, const BlockPlace& place,
                                 unsigned char* shared) {
  using E = typename Shape::E;
  auto* const lambda = reinterpret_cast<float*>(shared + Shape::kScalesAt);
  auto& at = *reinterpret_cast<ForwardBlock<Shape>*>(shared + Shape::kPlaceAt);
  auto& rows = *reinterpret_cast<typename Shape::Rows*>(shared + Shape::kRowsAt);
  if (threadIdx.x == 0) at = ForwardBlock<Shape>(p, place, shared_address(shared));
  rows.find(p, out, place.b, place.i0);
  __syncthreads();
  const auto copy_keys = [&](int block, int stage) {
    if (block >= at.end_block) return;
    const E* from = static_cast<const E*>(p.key) + at.b * p.key_stride.batch + at.kv_head * p.key_stride.head;
    copy_rows<Shape::kWidth, Shape::kKeys, Shape::kThreads>(at.queries + Shape::kKeysAt + stage * Shape::kKeyBytes,
                                                            from, p.key_stride.row, block * Shape::kKeys, at.end);
  };
  const E* queries = static_cast<const E*>(p.query) + at.b * p.query_stride.batch + at.h * p.query_stride.head;
  copy_rows<Shape::kWidth, Shape::kRows, Shape::kThreads>(at.queries, queries, p.query_stride.row, at.i0, p.n_q);
  int block = at.skip_gap(0), stage = 0;
  copy_keys(block, stage);
  commit_copies();

  const std::int64_t i = min(std::int64_t{at.i0} + threadIdx.x, p.n_q - 1);
  const float scale = kLog2E * (p.scales ? static_cast<const float*>(p.scales)[(at.b * p.heads + at.h) * p.n_q + i]
                                         : static_cast<float>(p.scale));
  lambda[threadIdx.x] = scale;
  __syncthreads();
  const int first_row = at.row_of(0, 0) - at.i0;

  typename Shape::Softmax softmax(nullptr, shared + Shape::kColumnsAt);
  Accumulators<Shape::kRowTiles, 1> nothing = {};
  while (block < at.end_block) {
    const int j0 = block * Shape::kKeys, here = stage;
    block = at.skip_gap(block + 1);
    wait_for_copies<0>();
    __syncthreads();
    stage ^= 1;
    copy_keys(block, stage);
    commit_copies();
    Scores<Shape> scores;
    multiply_rows<E, Shape::kWidth>(at.queries, threadIdx.x / 32 * (16 * Shape::kRowTiles),
                                    at.queries + Shape::kKeysAt + here * Shape::kKeyBytes, scores);
    finish_scores<Shape>(p, at, j0, lambda, scores);
    if (!at.is_whole(j0)) hide_keys<Shape>(p, at, j0, scores);
    if (rows.has_first(j0) || rows.has_recent(j0, j0 + Shape::kKeys)) take_groups<Shape>(rows, first_row, j0, scores);
    constexpr float kFinished[Shape::kRowTiles][2] = {{1, 1}, {1, 1}};
    softmax.follow(scores, kFinished, nothing);
    softmax.weigh(scores, kFinished, [](int, int, int, float, float) {});
    softmax.move_columns(block * Shape::kKeys - j0);
  }
  write_groups<Shape>(p, out, at, rows, first_key_of_lane(block * Shape::kKeys), softmax);
}

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 3)
    key_groups_kernel(const __grid_constant__ Problem p, const __grid_constant__ KeyGroupArrays out,
                      const __grid_constant__ BlockOrder order) {
  if (out.drowned && out.drowned[blockIdx.x] == 0) return;
  key_groups_block<Shape>(p, out, order.place(blockIdx.x), block_memory());
}

template <ElementType type, int d>
cudaError_t launch_key_groups(const Problem& problem, const KeyGroupArrays& groups, cudaStream_t stream) {
  using Shape = KeyGroupsShape<type, d>;
  static_assert(Shape::kRows == kForwardRows, "the forward pass marks blocks that are taken again");
  const BlockOrder order(problem, Shape::kRows);
  return launch_kernel(key_groups_kernel<Shape>, order.grid(), Shape::kThreads, Shape::kBytes, stream, problem, groups,
                       order);
}

}  // namespace isentropic::cuda
