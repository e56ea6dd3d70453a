// The key groups of a block of rows: their bounds, their sums, and the statistics written.
#pragma once

#include "attention/cuda/running_softmax.cuh"
#include "attention/cuda/visible_keys.cuh"

namespace isentropic::cuda {

// The sums over a group of a row's keys, in units of log 2: 2^(s - m), and 2^(s - m) (p - j).
struct GroupSums {
  float m = -INFINITY, z = 0, distance = 0;

  __device__ float reference() const { return m == -INFINITY ? 0.0f : m; }
  // The factor that rebases the sums to the maximum `higher`.
  __device__ float share(float higher) const { return m == -INFINITY ? 1.0f : exp2_fast(m - higher); }
  __device__ void merge(const GroupSums& other) {
    const GroupSums one = *this;
    m = fmaxf(one.m, other.m);
    const float mine = one.share(reference()), its = other.share(reference());
    z = one.z * mine + other.z * its;
    distance = one.distance * mine + other.distance * its;
  }
};

// Kept in shared memory, with the sums of the groups that are summed separately; First is the type of those of the
// first keys. A row's first keys end at `first_end`, its recent ones at its position.
template <int kRows, class First>
struct GroupedRows {
  int recent;                                    // maximum size of that group
  int last_first_end, recent_begin, recent_end;  // bounds over all rows
  int first_end[kRows], position[kRows];
  First first_sums[kRows];
  GroupSums recent_sums[kRows];

  // Called by all threads, at least kRows of them; the caller synchronises before reading anything.
  __device__ void find(const Problem& p, const KeyGroupArrays& groups, int b, int i0) {
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    if (threadIdx.x == 0) {
      recent = static_cast<int>(min(groups.recent, kMost));
      last_first_end = recent_end = -static_cast<int>(kMost);
      recent_begin = static_cast<int>(kMost);
    }
    __syncthreads();
    if (threadIdx.x >= kRows) return;
    const int row = threadIdx.x;
    const std::int64_t i = min(std::int64_t{i0} + row, p.n_q - 1), at = position_of(p, b, i);
    const std::int64_t document = groups.positions_in_document ? at - groups.positions_in_document[b * p.n_q + i] : 0;
    first_end[row] = static_cast<int>(max(-kMost, min(document + groups.first, kMost)));
    position[row] = static_cast<int>(max(-kMost, min(at, kMost)));
    first_sums[row] = First();
    recent_sums[row] = GroupSums();
    atomicMax(&last_first_end, first_end[row]);
    atomicMin(&recent_begin, begin_of_recent(row));
    atomicMax(&recent_end, position[row] + 1);
  }

  __device__ int begin_of_recent(int row) const { return max(first_end[row], position[row] - recent + 1); }
  // Whether some row may have keys of the group in [j0, end).
  __device__ bool has_first(int j0) const { return j0 < last_first_end; }
  __device__ bool has_recent(int j0, int end) const { return j0 < recent_end && end > recent_begin; }
};

// From the sums of a row's four lanes, with each lane's columns counted from its key `first_key`; the same on all four.
__device__ inline GroupSums row_of_lanes(float z, float columns, float reference, int position, int first_key) {
  GroupSums out;
  out.z = row_sum(z);
  out.distance = row_sum(fmaf(static_cast<float>(position - first_key), z, -columns));
  if (out.z != 0) out.m = reference;
  return out;
}

// Number of visible keys that are not among the first ones.
__device__ inline std::int64_t count_without_first(const RowSpans& seen, int first_end) {
  return max(0, seen.prefix_end - max(seen.prefix_begin, first_end)) + max(0, seen.end - max(seen.begin, first_end));
}

// Merges the first keys into the others (`kept`: their record; `sums`: the same with distance), writes the statistics.
__device__ inline void write_key_groups(const KeyGroupArrays& out, std::int64_t place, const GroupSums& first,
                                        const GroupSums& recent, const GroupSums& sums,
                                        const SoftmaxRecord<float>& kept) {
  GroupSums all = sums;
  all.merge(first);
  const float reference = all.reference();
  const auto set = [&](void* array, float value) {
    if (array) static_cast<float*>(array)[place] = all.z == 0 ? 0.0f : all.z == all.z ? value : all.z;
  };
  set(out.first_mass, first.z * first.share(reference) / all.z);
  set(out.recent_mass, recent.z * recent.share(reference) / all.z);
  set(out.entropy_without_first, entropy(kept));
  set(out.mean_distance, all.distance / all.z);
}

}  // namespace isentropic::cuda
