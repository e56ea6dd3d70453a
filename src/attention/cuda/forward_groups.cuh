// Key-group statistics in the forward pass: the running sums cover all keys but the first ones.
//
// In the few blocks of keys that contain first or recent keys of some row, these are summed separately, in shared
// memory; the weights of all keys go into the product with the values. All keys of a row share one reference: if the
// first keys exceed the others by so much that the others lose digits, a pass over key groups processes the block
// again.
#pragma once

#include "attention/cuda/forward_rows.cuh"
#include "attention/cuda/key_groups_rows.cuh"

namespace isentropic::cuda {

// All sums of a row's first keys, in units of log 2.
struct FirstSums : GroupSums {
  float u = 0, w = 0, c = 0;

  __device__ SoftmaxMoments<float> seen_from(float reference) const {
    if (z == 0) return {0, 0, 0, 0};
    const float delta = m - reference;
    return rebase(SoftmaxMoments<float>{z, u, w, c}, delta, exp2_fast(delta));
  }
  // Adds sums taken relative to `reference`, which never decreases.
  __device__ void add_sums(float reference, const SoftmaxMoments<float>& sums, float sum_of_distances) {
    const SoftmaxMoments<float> all = add(seen_from(reference), sums);
    distance = (z == 0 ? 0.0f : distance * share(reference)) + sum_of_distances;
    m = reference, z = all.z, u = all.u, w = all.w, c = all.c;
  }
};

// Computes a block's weights like RunningSoftmax::weigh, summing the groups separately.
template <class Shape>
__device__ __forceinline__ void weigh_with_groups(typename Shape::Groups& rows, int first_row, int j0,
                                                  const Scores<Shape>& scores,
                                                  const float (&factor)[Shape::kRowTiles][2],
                                                  typename Shape::Softmax& softmax,
                                                  PackedWeights<Shape::kRowTiles, Shape::kScoreTiles>& weights) {
  const int first_key = first_key_of_lane(j0);
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + t * 16 + half * 8, position = rows.position[row];
      const int first_end = rows.first_end[row] - first_key, recent_begin = rows.begin_of_recent(row) - first_key;
      const int recent_end = position - first_key;
      const float reference = softmax.reference(t, half);
      LaneSums first = {};
      float recent = 0, first_columns = 0, columns = softmax.columns.at(t, half);
#pragma unroll
      for (int tile = 0; tile < Shape::kScoreTiles; ++tile) {
        float both[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int column = tile * 8 + e;
          const float score = fmaf(scores[t][tile][2 * half + e], factor[t][half], -reference);
          const float weight = exp2_fast(score);
          const bool is_first = column < first_end;
          const float kept = is_first ? 0.0f : weight, apart = is_first ? weight : 0.0f;
          softmax.add(score, kept, softmax.sums[t][half]), softmax.add_column(kept, column, columns);
          softmax.add(score, apart, first), softmax.add_column(apart, column, first_columns);
          if (column >= recent_begin && column <= recent_end) recent += weight;
          both[e] = weight;
        }
        weights[t][tile][half] = pack<typename Shape::E>(both[0], both[1]);
      }
      softmax.columns.at(t, half) = columns;
      const GroupSums sums = row_of_lanes(first.z, first_columns, reference, position, first_key);
      const SoftmaxMoments<float> moments = {sums.z, row_sum(first.u), row_sum(first.w), row_sum(first.c)};
      recent = row_sum(recent);
      if (threadIdx.x % 4 != 0) continue;
      if (sums.z != 0) rows.first_sums[row].add_sums(reference, moments, sums.distance);
      if (recent != 0) rows.recent_sums[row].merge({reference, recent, 0});
    }
}

// If the other keys' weights sum to less than this, their entropy log z - u / z is a difference of numbers of magnitude
// 40 log 2 and more, and the smallest weights approach underflow.
inline constexpr float kDrowned = 0x1p-40f;

// Writes the groups' statistics and adds the first keys to the sums. first_key: the origin of the column numbers.
template <class Shape>
__device__ __forceinline__ void finish_groups(const Problem& p, const KeyGroupArrays& out,
                                              const ForwardBlock<Shape>& at, const typename Shape::Groups& rows,
                                              int first_key, typename Shape::Softmax& softmax) {
  bool drowned = false;
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = at.row_of(t, half), row = i - at.i0;
      const float reference = softmax.reference(t, half);
      LaneSums& lane = softmax.sums[t][half];
      const GroupSums sums =
          row_of_lanes(lane.z, softmax.columns.at(t, half), reference, rows.position[row], first_key);
      SoftmaxRecord<float> kept;
      kept.sums = {sums.z, row_sum(lane.u) * kLn2, 0, 0};
      if (threadIdx.x % 4 != 0) continue;
      const FirstSums& first = rows.first_sums[row];
      if (i < p.n_q) {
        kept.k = count_without_first(spans_of(p, at.b, i), rows.first_end[row]);
        drowned |= kept.k > 0 && first.z > 0 && sums.z < kDrowned;
        write_key_groups(out, (at.b * p.heads + at.h) * p.n_q + i, first, rows.recent_sums[row], sums, kept);
      }
      const SoftmaxMoments<float> joined = add({lane.z, lane.u, lane.w, lane.c}, first.seen_from(reference));
      lane.z = joined.z, lane.u = joined.u, lane.w = joined.w, lane.c = joined.c;
    }
  const bool any = __syncthreads_or(drowned);
  if (threadIdx.x == 0) out.drowned[blockIdx.x] = any ? 1 : 0;
}

}  // namespace isentropic::cuda
