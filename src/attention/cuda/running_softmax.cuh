// The running softmax of a warp's rows, in registers: scores of a block of keys become weights and join the sums.
//
// Everything is in units of log 2: t = log2(e) s - reference, weight 2^t, and the sums of softmax_record.hpp over t.
// The reference follows the row's running maximum lazily: the sums and the output are rescaled to a new maximum only
// when a score exceeds the reference by kSlack, which after the first blocks hardly ever happens. Weights can therefore
// reach 2^kSlack, far from overflow; the maximum itself is known at the end, and the record is written relative to it.
#pragma once

#include "attention/cuda/products.cuh"
#include "isentropic/softmax_record.hpp"

namespace isentropic::cuda {

inline constexpr float kHidden = -1e30f;  // finite, so that its weight and their product are 0
inline constexpr float kSlack = 8;
inline constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

// One lane's sums over the keys it has seen of a row; four lanes share the row.
struct LaneSums {
  float z, u, w, c;
};

// One number per row of a lane: in registers or, where these are scarce, in shared memory.
template <int kRowTiles, bool kInRegisters>
struct LaneNumbers {
  float numbers[kRowTiles][2];
  static constexpr int kBytes = 0;
  __device__ explicit LaneNumbers(unsigned char*) {}
  __device__ __forceinline__ float& at(int t, int half) { return numbers[t][half]; }
};
template <int kRowTiles>
struct LaneNumbers<kRowTiles, false> {
  float (*numbers)[2];
  static constexpr int kBytes = kRowTiles * 2 * sizeof(float);  // per thread
  __device__ explicit LaneNumbers(unsigned char* shared)
      : numbers(reinterpret_cast<float (*)[2]>(shared + threadIdx.x * kBytes)) {}
  __device__ __forceinline__ float& at(int t, int half) { return numbers[t][half]; }
};

template <int kRowTiles, bool kInRegisters>
__device__ inline void clear(LaneNumbers<kRowTiles, kInRegisters>& numbers) {
#pragma unroll
  for (int t = 0; t < kRowTiles; ++t) numbers.at(t, 0) = numbers.at(t, 1) = 0;
}

// Indexed by row tile and half. kColumns: also sums the weights times their column numbers.
template <MomentSet kMoments, int kRowTiles, bool kHighestInRegisters, bool kColumns = false>
struct RunningSoftmax {
  static constexpr bool kEntropy = kMoments != MomentSet::partition, kAll = kMoments == MomentSet::all;

  using Highest = LaneNumbers<kRowTiles, kHighestInRegisters>;
  Highest highest;            // over the keys this lane has seen
  float limit[kRowTiles][2];  // reference + kSlack; -inf: the row has seen no key
  LaneSums sums[kRowTiles][2];
  using Columns = LaneNumbers<kRowTiles, !kColumns>;
  Columns columns;  // relative to the first column of the lane's next block

  // `shared` has Highest::kBytes per thread, and `for_columns` Columns::kBytes.
  __device__ __forceinline__ explicit RunningSoftmax(unsigned char* shared, unsigned char* for_columns = nullptr)
      : highest(shared), columns(for_columns) {
    if constexpr (kColumns) clear(columns);
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        highest.at(t, half) = limit[t][half] = -INFINITY;
        sums[t][half] = {};
      }
  }

  __device__ __forceinline__ float reference(int t, int half) const {
    return limit[t][half] == -INFINITY ? 0.0f : limit[t][half] - kSlack;
  }

  // Call before weighing a block's scores: updates the maxima, and rescales rows whose reference has fallen too far
  // behind. A score times its row's factor is in units of log 2; hidden ones are kHidden.
  template <int kTiles, int kOutputTiles>
  __device__ __forceinline__ void follow(const Accumulators<kRowTiles, kTiles>& scores,
                                         const float (&factor)[kRowTiles][2],
                                         Accumulators<kRowTiles, kOutputTiles>& output) {
    bool higher = false;
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float found = kHidden;
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile)
          found = fmaxf(found, fmaxf(scores[t][tile][2 * half], scores[t][tile][2 * half + 1]));
        const float most = fmaxf(highest.at(t, half), found * factor[t][half]);
        highest.at(t, half) = most;
        higher |= most > limit[t][half];
      }
    if (__any_sync(0xffffffffu, higher)) raise(factor, output);
  }

  // Weights of a block, rounded, two per register.
  template <class E, int kTiles>
  __device__ __forceinline__ void weigh(const Accumulators<kRowTiles, kTiles>& scores,
                                        const float (&factor)[kRowTiles][2],
                                        PackedWeights<kRowTiles, kTiles>& weights) {
    weigh(scores, factor, [&](int t, int tile, int half, float x, float y) { weights[t][tile][half] = pack<E>(x, y); });
  }

  // Calls use(t, tile, half, x, y) with the weights of two neighbours.
  template <int kTiles, class Use>
  __device__ __forceinline__ void weigh(const Accumulators<kRowTiles, kTiles>& scores,
                                        const float (&factor)[kRowTiles][2], Use use) {
    float from[kRowTiles][2], of_columns[kRowTiles][2];
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        from[t][half] = reference(t, half);
        if constexpr (kColumns) of_columns[t][half] = columns.at(t, half);
      }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float both[2];
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const float score = fmaf(scores[t][tile][2 * half + e], factor[t][half], -from[t][half]);
            both[e] = exp2_fast(score);
            add(score, both[e], sums[t][half]);
            if constexpr (kColumns) add_column(both[e], tile * 8 + e, of_columns[t][half]);
          }
          use(t, tile, half, both[0], both[1]);
        }
    if constexpr (kColumns) {
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
        for (int half = 0; half < 2; ++half) columns.at(t, half) = of_columns[t][half];
    }
  }

  // Adds a weight, 2^t, to the sums.
  __device__ static __forceinline__ void add(float t, float weight, LaneSums& row) {
    row.z += weight;
    if constexpr (kAll) {
      const float moment = t * weight;
      row.u += moment;
      row.w = fmaf(t, moment, row.w);
      row.c = fmaf(weight, weight, row.c);
    } else if constexpr (kEntropy) {
      row.u = fmaf(t, weight, row.u);
    }
  }

  __device__ static __forceinline__ void add_column(float weight, int column, float& sum) {
    if (column > 0) sum = fmaf(weight, static_cast<float>(column), sum);
  }

  // Moves the origin of the columns `keys` further on.
  __device__ __forceinline__ void move_columns(int keys) {
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        columns.at(t, half) = fmaf(-static_cast<float>(keys), sums[t][half].z, columns.at(t, half));
  }

  // The record of a row in natural logarithms, the same on its four lanes; empty if no key was seen. A NaN score makes
  // the row NaN.
  __device__ __forceinline__ SoftmaxRecord<float> record(int t, int half) {
    const LaneSums& lane = sums[t][half];
    SoftmaxRecord<float> out;
    const float z = row_sum(lane.z), u = kEntropy ? row_sum(lane.u) : 0, w = kAll ? row_sum(lane.w) : 0,
                c = kAll ? row_sum(lane.c) : 0, m = row_max(highest.at(t, half));
    if (z == 0) return out;
    // A maximum of 10^4 has three decimals, and is rounded twice before a backward pass uses it: the sums are therefore
    // rebased to the rounded maximum, so that the weights there are the same to the last digit.
    out.m = z != z ? z : __fmul_rn(m, kLn2);
    const float delta = reference(t, half) - __fmul_rn(out.m, kLog2E);
    const SoftmaxMoments<float> sums_at_m = rebase(SoftmaxMoments<float>{z, u, w, c}, delta, exp2_fast(delta));
    out.sums = {sums_at_m.z, sums_at_m.u * kLn2, sums_at_m.w * (kLn2 * kLn2), sums_at_m.c};
    return out;
  }

 private:
  // Rescales every row to its maximum.
  template <int kOutputTiles>
  __device__ __forceinline__ void raise(const float (&factor)[kRowTiles][2],
                                        Accumulators<kRowTiles, kOutputTiles>& output) {
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float m = row_max(highest.at(t, half));
        if (!(m > kHidden * factor[t][half])) continue;
        const float delta = limit[t][half] == -INFINITY ? 0.0f : limit[t][half] - (m + kSlack);
        const float shrink = exp2_fast(delta);
        LaneSums& row = sums[t][half];
        if constexpr (kAll) {
          row.w = shrink * (row.w + delta * (2 * row.u + delta * row.z));
          row.c *= shrink * shrink;
        }
        if constexpr (kEntropy) row.u = shrink * (row.u + delta * row.z);
        if constexpr (kColumns) columns.at(t, half) *= shrink;
        row.z *= shrink;
        limit[t][half] = m + kSlack;
#pragma unroll
        for (int tile = 0; tile < kOutputTiles; ++tile) {
          output[t][tile][2 * half] *= shrink;
          output[t][tile][2 * half + 1] *= shrink;
        }
      }
  }
};

}  // namespace isentropic::cuda
