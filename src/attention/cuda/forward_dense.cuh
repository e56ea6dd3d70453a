// Terms read or tested for each score on tensor cores: dense masks and biases, relative tables, strided and
// block-sparse tests, excluded keys. Scores are in units of log 2; those of hidden keys become kHidden.
//
// A lane holds the scores of two neighbouring keys, the first of them even, and reads both in one load where they are
// adjacent in memory. Terms that are the same for all rows, such as a padding mask, are read once for all of a lane's
// rows.
#pragma once

#include "attention/cuda/forward_rows.cuh"
#include "attention/cuda/running_softmax.cuh"
#include "attention/cuda/scores.cuh"

namespace isentropic::cuda {

inline constexpr float kLeastScore = -9e29f;  // of a visible key: greater than kHidden

// An element as it is added to a score; -inf hides.
template <class T>
__device__ inline float term_of(T x) {
  if constexpr (std::is_same_v<T, bool>)
    return x ? 0.0f : -INFINITY;
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return to_real(x) <= -0x1.FEp127f ? -INFINITY : to_real(x);
  else if constexpr (std::is_same_v<T, __half>)
    return to_real(x) <= -65504.0f ? -INFINITY : to_real(x);
  else if constexpr (std::is_same_v<T, float>)
    return x <= kLowest<float> ? -INFINITY : x;
  else
    return x <= kLowest<double> ? -INFINITY : static_cast<float>(max(x, static_cast<double>(kLowest<float>)));
}

__device__ inline void add_term(float term, float& score) {
  const float sum = fmaf(term, kLog2E, score);
  const bool hidden = term == -INFINITY || score == kHidden;
  score = hidden ? kHidden : sum < kLeastScore ? kLeastScore : sum;  // a NaN stays NaN
}

// The terms added to the scores of two neighbouring keys.
struct TermPair {
  float x, y;
};

template <class T>
struct alignas(2 * sizeof(T)) Neighbours {
  T x, y;
};

// A row of a dense term, starting at a lane's first key.
template <class T>
struct TermRow {
  const T* data;
  std::int64_t stride;
  int left;  // number of keys from there on

  __device__ TermRow(const DenseTerm& term, std::int64_t b, std::int64_t h, std::int64_t i, int first, std::int64_t n_k)
      : data(static_cast<const T*>(term.data) + offset_in(term.stride, b, h, i, first)),
        stride(term.stride[3]),
        left(static_cast<int>(n_k) - first) {}

  __device__ bool has_neighbours() const {
    return stride == 1 && reinterpret_cast<std::uintptr_t>(data) % sizeof(Neighbours<T>) == 0;
  }
  __device__ TermPair neighbours(int j) const {
    const auto both = *reinterpret_cast<const Neighbours<T>*>(data + j);
    return {term_of(both.x), term_of(both.y)};
  }
  // Keys out of range are hidden.
  __device__ TermPair one_by_one(int j) const {
    return {j < left ? term_of(data[j * stride]) : -INFINITY,
            j + 1 < left ? term_of(data[(j + 1) * stride]) : -INFINITY};
  }
};

template <class T, class Shape>
__device__ __forceinline__ void add_term_of_rows(const Problem& p, const DenseTerm& term, const ForwardBlock<Shape>& at,
                                                 int j0, Scores<Shape>& scores) {
  const int first = first_key_of_lane(j0);
  const bool whole = j0 + Shape::kKeys <= p.n_k;
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const TermRow<T> row(term, at.b, at.h, min(at.row_of(t, half), static_cast<int>(p.n_q) - 1), first, p.n_k);
      const auto add_all = [&](auto read) {
#pragma unroll
        for (int tile = 0; tile < Shape::kScoreTiles; ++tile) {
          const TermPair both = read(tile * 8);
          add_term(both.x, scores[t][tile][2 * half]);
          add_term(both.y, scores[t][tile][2 * half + 1]);
        }
      };
      if (whole && row.has_neighbours())
        add_all([&](int j) { return row.neighbours(j); });
      else
        add_all([&](int j) { return row.one_by_one(j); });
    }
}

template <class T, class Shape>
__device__ __forceinline__ void add_term_of_keys(const Problem& p, const DenseTerm& term, const ForwardBlock<Shape>& at,
                                                 int j0, Scores<Shape>& scores) {
  const TermRow<T> row(term, at.b, at.h, 0, first_key_of_lane(j0), p.n_k);
#pragma unroll
  for (int tile = 0; tile < Shape::kScoreTiles; ++tile) {
    const TermPair both = row.one_by_one(tile * 8);
    if (!__any_sync(0xffffffffu, both.x != 0 || both.y != 0)) continue;
#pragma unroll
    for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        add_term(both.x, scores[t][tile][2 * half]);
        add_term(both.y, scores[t][tile][2 * half + 1]);
      }
  }
}

template <class Shape>
__device__ __forceinline__ void add_dense_term(const Problem& p, const DenseTerm& term, const ForwardBlock<Shape>& at,
                                               int j0, Scores<Shape>& scores) {
  const auto add = [&](auto element) {
    using T = decltype(element);
    if (term.stride[2] == 0)
      add_term_of_keys<T>(p, term, at, j0, scores);
    else
      add_term_of_rows<T>(p, term, at, j0, scores);
  };
  switch (term.type) {
    case ElementType::boolean:
      return add(bool());
    case ElementType::bfloat16:
      return add(__nv_bfloat16());
    case ElementType::float16:
      return add(__half());
    case ElementType::float32:
      return add(float());
    case ElementType::float64:
      return add(double());
  }
}

// j / divisor and j % divisor for a lane's keys, in steps of eight, and their neighbours, without a division per key.
struct SteppedDivision {
  int divisor, quotient, remainder;

  __device__ SteppedDivision(std::int64_t first, std::int64_t by)
      : divisor(static_cast<int>(min(by, std::int64_t{1} << 30))) {
    const auto start = static_cast<int>(first);
    quotient = start / divisor, remainder = start % divisor;
    if (remainder < 0) quotient -= 1, remainder += divisor;
  }
  __device__ void step() {
    quotient += 8 / divisor, remainder += 8 % divisor;
    if (remainder >= divisor) quotient += 1, remainder -= divisor;
  }
  __device__ int quotient_of(int e) const { return quotient + (remainder + e >= divisor ? 1 : 0); }
  __device__ bool divides(int e) const { return e == 0 ? remainder == 0 : remainder + 1 == divisor; }
};

// Hides the keys of a row that fail a test of p.tests other than its mask.
template <class Shape>
__device__ __forceinline__ void test_row(const Problem& p, const ForwardBlock<Shape>& at, int t, int half, int j0,
                                         Scores<Shape>& scores) {
  const KeyTests& tests = p.tests;
  const int first = first_key_of_lane(j0), i = min(at.row_of(t, half), static_cast<int>(p.n_q) - 1);
  const auto lag = static_cast<int>(position_of(p, at.b, i) - first);
  const auto hide = [&](auto hides) {
    for_each_score<Shape>(scores, t, half, [&](float& s, int j) {
      if (hides(j)) s = kHidden;
    });
  };
  if (tests.excludes_self) hide([&](int j) { return j == lag; });
  if (tests.excluded) {
    const std::int64_t excluded = tests.excluded[i] - first;
    hide([&](int j) { return j == excluded; });
  }
  if (tests.stride > 0) {
    SteppedDivision places(-lag, tests.stride);
    const auto local = static_cast<int>(min(tests.local, std::int64_t{1} << 30));
    hide([&](int j) {
      if (j > 0 && j % 8 == 0) places.step();
      return abs(lag - j) >= local && !places.divides(j % 2);
    });
  }
  if (tests.layout) {
    const bool* row = tests.layout + offset_in(tests.layout_stride, at.b, at.h, i / tests.block_q, 0);
    SteppedDivision columns(first, tests.block_k);
    const int left = static_cast<int>(p.n_k) - first;
    hide([&](int j) {
      if (j > 0 && j % 8 == 0) columns.step();
      return j < left && !row[columns.quotient_of(j % 2) * tests.layout_stride[3]];
    });
  }
}

template <class Shape>
__device__ __forceinline__ void add_relative(const Problem& p, const ForwardBlock<Shape>& at, int t, int half, int j0,
                                             Scores<Shape>& scores) {
  const auto reach = static_cast<int>(p.reach);
  const float* middle = static_cast<const float*>(p.relative) + at.h * (2 * p.reach + 1) + p.reach;
  const int i = min(at.row_of(t, half), static_cast<int>(p.n_q) - 1);
  const auto lag = static_cast<int>(position_of(p, at.b, i) - first_key_of_lane(j0));
  for_each_score<Shape>(scores, t, half,
                        [&](float& s, int j) { add_term(middle[min(max(lag - j, -reach), reach)], s); });
}

// Expects scores that are already scaled and capped.
template <class Shape>
__device__ __forceinline__ void add_dense_terms(const Problem& p, const ForwardBlock<Shape>& at, int j0,
                                                Scores<Shape>& scores) {
  const KeyTests& tests = p.tests;
#pragma unroll 1
  for (int turn = 0; turn < 2; ++turn) {
    const DenseTerm& term = turn == 0 ? tests.mask : p.bias;
    if (term.data) add_dense_term<Shape>(p, term, at, j0, scores);
  }
  const bool is_tested = tests.excludes_self || tests.excluded || tests.stride > 0 || tests.layout;
  if (!is_tested && !p.relative) return;
#pragma unroll
  for (int t = 0; t < Shape::kRowTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (p.relative) add_relative<Shape>(p, at, t, half, j0, scores);
      if (is_tested) test_row<Shape>(p, at, t, half, j0, scores);
    }
}

}  // namespace isentropic::cuda
