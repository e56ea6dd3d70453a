// Statistics over key groups in the forward pass: the running sums are those of all keys but the first ones.
//
// In the few blocks of keys that hold first or recent keys of some row these are summed apart, in shared memory; the
// weights of all keys go into the product with the values. The reference is common to all keys of a row: should the
// first ones tower so far above the others that these lose digits, a pass over key groups looks at the block again.
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
  // Sums that are seen from `reference`, which is never lower than before.
  __device__ void add_sums(float reference, const SoftmaxMoments<float>& sums, float sum_of_distances) {
    const SoftmaxMoments<float> all = add(seen_from(reference), sums);
    distance = (z == 0 ? 0.0f : distance * share(reference)) + sum_of_distances;
    m = reference, z = all.z, u = all.u, w = all.w, c = all.c;
  }
};

// Weights of a block as RunningSoftmax::weigh makes them, the groups summed apart.
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

// Where the other keys' weights sum to less, their entropy log z - u / z is the difference of numbers of 40 bits and
// more, and the smallest weights come near to underflow.
inline constexpr float kDrowned = 0x1p-40f;

// Writes the groups' statistics and lets the first keys join the sums. first_key: where columns are counted from.
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
