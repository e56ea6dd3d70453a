// The per-row numbers the backward pass needs for a block of queries, in shared memory.
#pragma once

#include "attention/cuda/backward_tiles.cuh"

namespace isentropic::cuda {

// Scales are needed longer than the others and are double-buffered, for this block and the next.
template <int kQueries, BackwardTerms kTerms>
class RowNumbers {
 public:
  static constexpr bool kAll = kTerms != BackwardTerms::entropy;
  static constexpr int kBytes = kBackwardRowBytes * kQueries;

  __device__ explicit RowNumbers(unsigned char* shared)
      : rows_(reinterpret_cast<PackedRow*>(shared)),
        higher_(reinterpret_cast<HigherTerms*>(rows_ + kQueries)),
        scales_(reinterpret_cast<float*>(higher_ + kQueries)) {}

  __device__ const PackedRow& row(int row) const { return rows_[row]; }
  __device__ const HigherTerms& higher(int row) const { return higher_[row]; }
  __device__ float* scales(int buffer) const { return scales_ + buffer * kQueries; }

  // Asynchronous; each group of threads copies one array. Rows out of range are zero-filled.
  __device__ void copy(const Problem& p, const BackwardWorkspace& from, int b, int h, std::int64_t i0,
                       int buffer) const {
    const int row = static_cast<int>(threadIdx.x) % kQueries, group = static_cast<int>(threadIdx.x) / kQueries;
    const bool exists = i0 + row < p.n_q;
    const std::int64_t place = exists ? (b * p.heads + h) * p.n_q + i0 + row : 0;
    if (group == 0) {
      copy_async(shared_address(rows_ + row), from.rows + place, exists);
      if constexpr (kAll) copy_async(shared_address(higher_ + row), from.higher + place, exists);
    } else if (group == 1 && p.scales) {
      copy_number(shared_address(scales(buffer) + row), static_cast<const float*>(p.scales) + place, exists);
    }
  }

 private:
  PackedRow* const rows_;
  HigherTerms* const higher_;
  float* const scales_;
};

}  // namespace isentropic::cuda
