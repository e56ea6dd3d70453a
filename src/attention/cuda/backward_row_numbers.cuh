// The numbers that the backward pass needs of each row of a block of queries, in shared memory.
#pragma once

#include "attention/cuda/backward_tiles.cuh"

namespace isentropic::cuda {

// Arrays by their place. Scales are needed longer than the others and lie twice, for this block and the next.
enum class RowArray : int { max_score, log_partition, mean_score, gate, base, a1, a2, a3, scale, next_scale };

template <int kQueries, BackwardTerms kTerms>
class RowNumbers {
 public:
  __device__ explicit RowNumbers(float* shared) : numbers(shared) {}

  __device__ float at(RowArray array, int row, int buffer) const {
    return array == RowArray::scale ? scales(buffer)[row] : of(array)[row];
  }
  __device__ float* scales(int buffer) const { return of(RowArray::scale) + buffer * kQueries; }

  // Asynchronously; groups of threads take turns. What is null or beyond the last row is 0.
  __device__ void copy(const BackwardProblem& in, int b, int h, std::int64_t i0, int buffer) const {
    constexpr int kGroups = kBackwardThreads / kQueries;
    const Problem& p = in.problem;
    const int row = static_cast<int>(threadIdx.x) % kQueries, group = static_cast<int>(threadIdx.x) / kQueries;
    const bool exists = i0 + row < p.n_q;
    const std::int64_t place = exists ? (b * p.heads + h) * p.n_q + i0 + row : 0;
    const auto copy_array = [&](float* to, int turn, const void* from) {
      if (turn % kGroups != group) return;
      copy_number(shared_address(to + row), static_cast<const float*>(from ? from : in.rows.max_score) + place,
                  from && exists);
    };
    copy_array(of(RowArray::max_score), 0, in.rows.max_score);
    copy_array(of(RowArray::log_partition), 1, in.rows.log_partition);
    copy_array(of(RowArray::mean_score), 2, in.rows.mean_score);
    copy_array(of(RowArray::gate), 3, in.rows.gate);
    copy_array(of(RowArray::base), 0, in.rows.base);
    copy_array(of(RowArray::a1), 1, in.rows.a1);
    if (p.scales) copy_array(scales(buffer), 2, p.scales);
    if constexpr (kTerms != BackwardTerms::entropy) {
      copy_array(of(RowArray::a2), 3, in.rows.a2);
      copy_array(of(RowArray::a3), 0, in.rows.a3);
    }
  }

 private:
  __device__ float* of(RowArray array) const { return numbers + static_cast<int>(array) * kQueries; }

  float* const numbers;
};

}  // namespace isentropic::cuda
