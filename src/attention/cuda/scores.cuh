// From a product to the score given to the softmax, and whether the key is visible: one definition for all kernels.
//
//   x = lambda q.k;   s = cap tanh(x / cap), or x;   + additive mask, dense bias, ALiBi, relative table
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "attention/cuda/visible_keys.cuh"
#include "base/counter_random.hpp"

namespace isentropic::cuda {

template <class R>
inline constexpr R kInfinity = std::numeric_limits<R>::infinity();
template <class R>
inline constexpr R kLowest = std::numeric_limits<R>::lowest();

// Reads a number that is not an input: float32 or float64.
template <class R>
__device__ inline R real_at(const void* array, std::int64_t index) {
  return static_cast<const R*>(array)[index];
}

// Calls f(E()) with the element type. Inputs summed in float64 are float64.
template <class R, class F>
__device__ inline void with_element(ElementType type, F f) {
  if constexpr (std::is_same_v<R, double>) {
    f(double());
  } else {
    switch (type) {
      case ElementType::bfloat16:
        return f(__nv_bfloat16());
      case ElementType::float16:
        return f(__half());
      default:
        return f(float());
    }
  }
}

__device__ inline float to_real(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline float to_real(__half x) { return __half2float(x); }
__device__ inline float to_real(float x) { return x; }
__device__ inline double to_real(double x) { return x; }

template <class E, class R>
__device__ inline E from_real(R x) {
  if constexpr (std::is_same_v<E, __nv_bfloat16>)
    return __float2bfloat16(x);
  else if constexpr (std::is_same_v<E, __half>)
    return __float2half(x);
  else
    return static_cast<E>(x);
}

// ---- Dense terms ----

__device__ inline std::int64_t offset_in(const std::int64_t (&stride)[4], std::int64_t b, std::int64_t h,
                                         std::int64_t i, std::int64_t j) {
  return b * stride[0] + h * stride[1] + i * stride[2] + j * stride[3];
}

// Whether an element masks its key: false, -inf, or the type's lowest value.
__device__ inline bool hides(const DenseTerm& term, std::int64_t offset) {
  switch (term.type) {
    case ElementType::boolean:
      return !static_cast<const bool*>(term.data)[offset];
    case ElementType::bfloat16: {
      const std::uint16_t bits = static_cast<const std::uint16_t*>(term.data)[offset];
      return bits == 0xFF7F || bits == 0xFF80;
    }
    case ElementType::float16: {
      const std::uint16_t bits = static_cast<const std::uint16_t*>(term.data)[offset];
      return bits == 0xFBFF || bits == 0xFC00;
    }
    case ElementType::float32:
      return static_cast<const float*>(term.data)[offset] <= kLowest<float>;
    case ElementType::float64:
      break;
  }
  return static_cast<const double*>(term.data)[offset] <= kLowest<double>;
}

// What an element adds to the score.
template <class R>
__device__ inline R added_by(const DenseTerm& term, std::int64_t offset) {
  switch (term.type) {
    case ElementType::boolean:
      return R(0);
    case ElementType::bfloat16:
      return to_real(static_cast<const __nv_bfloat16*>(term.data)[offset]);
    case ElementType::float16:
      return to_real(static_cast<const __half*>(term.data)[offset]);
    case ElementType::float32:
      return static_cast<R>(static_cast<const float*>(term.data)[offset]);
    case ElementType::float64:
      break;
  }
  return static_cast<R>(static_cast<const double*>(term.data)[offset]);
}

// ---- Scores ----

struct Head {
  std::int64_t b, h;
};

// What the scores of a row have in common.
template <class R>
struct ScoreRow {
  std::int64_t i, position;
  RowSpans spans;  // clamped to the existing keys
  R lambda;
};

// A row out of range sees nothing.
template <class R>
__device__ inline ScoreRow<R> score_row(const Problem& p, const Head& head, std::int64_t i) {
  ScoreRow<R> row = {i, 0, {0, 0, 0, 0}, R(0)};
  if (i < 0 || i >= p.n_q) return row;
  const RowSpans spans = spans_of(p, head.b, i);
  const auto cut = [&](std::int32_t j) {
    return static_cast<std::int32_t>(min(max(std::int64_t{j}, std::int64_t{0}), p.n_k));
  };
  row.spans = {cut(spans.prefix_begin), cut(spans.prefix_end), cut(spans.begin), cut(spans.end)};
  row.position = position_of(p, head.b, i);
  const std::int64_t place = (head.b * p.heads + head.h) * p.n_q + i;
  row.lambda = p.scales ? real_at<R>(p.scales, place) : static_cast<R>(p.scale);
  return row;
}

// Like score_terms below, not inlined: few problems need it, and the loops around it stay small.
__noinline__ __device__ inline bool passes_tests(const Problem& p, std::int64_t b, std::int64_t h, std::int64_t i,
                                                 std::int64_t position, std::int64_t j) {
  const KeyTests& tests = p.tests;
  if (tests.excludes_self && j == position) return false;
  if (tests.excluded && j == tests.excluded[i]) return false;
  if (tests.stride > 0) {
    const std::int64_t lag = position - j;
    if ((lag < 0 ? -lag : lag) >= tests.local && lag % tests.stride != 0) return false;
  }
  if (tests.layout && !tests.layout[offset_in(tests.layout_stride, b, h, i / tests.block_q, j / tests.block_k)])
    return false;
  if (tests.mask.data && hides(tests.mask, offset_in(tests.mask.stride, b, h, i, j))) return false;
  return !p.bias.data || !hides(p.bias, offset_in(p.bias.stride, b, h, i, j));
}

__device__ inline bool has_tests(const Problem& p) {
  const KeyTests& tests = p.tests;
  return tests.stride > 0 || tests.layout || tests.mask.data || tests.excludes_self || tests.excluded || p.bias.data;
}

template <class R>
__device__ inline bool sees(const Problem& p, const Head& head, const ScoreRow<R>& row, std::int64_t j) {
  return holds(row.spans, j) && (!has_tests(p) || passes_tests(p, head.b, head.h, row.i, row.position, j));
}

template <class R>
struct FinishedScore {
  R score;
  R cap_slope;  // d score / d x
};

// The terms added to a score after the cap.
template <class R>
__noinline__ __device__ R score_terms(const Problem& p, std::int64_t b, std::int64_t h, std::int64_t i,
                                      std::int64_t position, std::int64_t j) {
  const std::int64_t lag = position - j;
  const DenseTerm& mask = p.tests.mask;
  R sum = R(0);
  if (mask.data) sum += added_by<R>(mask, offset_in(mask.stride, b, h, i, j));
  if (p.bias.data) sum += added_by<R>(p.bias, offset_in(p.bias.stride, b, h, i, j));
  if (p.slopes) sum -= real_at<R>(p.slopes, h) * static_cast<R>(lag < 0 ? -lag : lag);
  if (p.relative) sum += real_at<R>(p.relative, h * (2 * p.reach + 1) + min(max(lag, -p.reach), p.reach) + p.reach);
  return sum;
}

// For a key that the row sees.
template <class R>
__device__ inline FinishedScore<R> finish_score(const Problem& p, const Head& head, const ScoreRow<R>& row,
                                                std::int64_t j, R product) {
  FinishedScore<R> out = {row.lambda * product, R(1)};
  if (p.soft_cap > 0) {
    const R cap = static_cast<R>(p.soft_cap), t = tanh(out.score / cap);
    out = {cap * t, R(1) - t * t};
  }
  if (p.tests.mask.data || p.bias.data || p.slopes || p.relative)
    out.score += score_terms<R>(p, head.b, head.h, row.i, row.position, j);
  return out;
}

// ---- Dropout ----

// Bit c is set if dropout keeps the weight of key j + c, c < 4; j is a multiple of 4. The same choices as on the CPU.
__noinline__ __device__ inline unsigned kept_by_dropout(const Problem& p, std::int64_t b, std::int64_t h,
                                                        std::int64_t i, std::int64_t j) {
  CounterRandom random(RandomStream::dropout, *p.seed, b, h, i);
  unsigned kept = 0;
  for (int c = 0; c < 4; ++c) kept |= random.uniform(j + c) >= p.dropout ? 1u << c : 0u;
  return kept;
}

// The factors of the weights of four keys from j on.
template <class R>
struct DropoutFactors {
  unsigned kept = ~0u;
  R factor = R(1);

  __device__ DropoutFactors(const Problem& p, const Head& head, std::int64_t i, std::int64_t j) {
    if (!(p.dropout > 0)) return;
    kept = kept_by_dropout(p, head.b, head.h, i, j);
    factor = static_cast<R>(1 / (1 - p.dropout));
  }
  // x times its factor; a dropped x is ignored, even if NaN.
  __device__ R apply(int c, R x) const { return kept >> c & 1u ? factor * x : R(0); }
};

}  // namespace isentropic::cuda
