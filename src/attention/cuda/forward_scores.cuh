// From products to softmax scores in units of log 2, and hiding keys that a row does not see.
#pragma once

#include "attention/cuda/forward_dense.cuh"
#include "attention/cuda/running_softmax.cuh"

namespace isentropic::cuda {

// For blocks of keys that contain only the ends of bands, as on a causal diagonal.
template <class Shape>
__device__ __forceinline__ void hide_keys_beyond(const Problem& p, const ForwardBlock<Shape>& at, int j0,
                                                 Scores<Shape>& scores) {
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int end = spans_of(p, at.b, at.row_of(t, half)).end - first_key_of_lane(j0);
      for_each_score<Shape>(scores, t, half, [&](float& s, int j) {
        if (j >= end) s = kHidden;
      });
    }
}

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

// Applies lambda, soft cap, slopes and dense terms, for when the largest product need not be the largest score.
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
  if constexpr (Shape::kDense) add_dense_terms<Shape>(p, at, j0, scores);
}

}  // namespace isentropic::cuda
