// From products to score gradients, one row at a time, with the row's constants in units of log 2.
#pragma once

#include "attention/cuda/launch_backward.hpp"
#include "attention/cuda/sm80.cuh"

namespace isentropic::cuda {

// The gradient of one score, and the weight that multiplies the value.
struct ScoreGradient {
  float weight, gradient, slope;
};

// With t = log2(e) (s - m) and e = 2^t = P z:
//
//   dS = e (gate dP + base + a1 t + a2 (t - mean)^2 + a3 e),
//
// where the constants of the row have been divided by z, a3 by z^2 (PackedRow), and base absorbs the difference between
// a1 t and a1 (s - E).
template <BackwardTerms kTerms>
struct RowTerms {
  static constexpr bool kAll = kTerms != BackwardTerms::entropy, kExtras = kTerms >= BackwardTerms::extras;
  static constexpr float kLog2E = 1.4426950408889634f;

  PackedRow row;
  HigherTerms higher;  // kAll
  float lambda;
  float cap, slope, position;  // kExtras

  // r = q.k for key j; dP = gO.v, ignored if the key is not visible. `added` is added to the score instead of slopes
  // (kDense); `factor` is the dropout factor of the weight.
  __device__ ScoreGradient gradient(float r, float dP, bool seen, int j, float added = 0, float factor = 1) const {
    float t, cap_slope = 1, distance = 0;
    if constexpr (kExtras) {
      float s = seen ? r * lambda : 0.0f;
      if (cap > 0) {
        const float bent = tanhf(s / cap);
        s = cap * bent;
        cap_slope = fmaf(-bent, bent, 1.0f);
      }
      distance = fabsf(position - static_cast<float>(j));
      t = kTerms == BackwardTerms::dense ? fmaf(kLog2E, added, s) - row.m : fmaf(-slope, distance, s) - row.m;
    } else {
      t = fmaf(r, lambda, -row.m);
    }
    const float e = exp2_fast(t);
    float rest = fmaf(row.a1, t, row.base);
    if constexpr (kAll) {
      const float from_mean = t - higher.mean;
      rest = fmaf(higher.a2 * from_mean, from_mean, rest);
      rest = fmaf(higher.a3, e, rest);
    }
    if constexpr (kTerms == BackwardTerms::dense) dP = factor == 0 ? 0.0f : factor * dP;
    const float weight = seen ? e * row.gate : 0.0f, dS = seen ? e * fmaf(row.gate, dP, rest) : 0.0f;
    return {factor * weight, cap_slope * dS, -distance * dS};
  }
};

}  // namespace isentropic::cuda
