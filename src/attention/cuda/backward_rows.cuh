// From products to gradients of scores, a row at a time: what the backward pass knows of a row, in units of log 2.
#pragma once

#include "attention/cuda/backward_row_numbers.cuh"
#include "attention/cuda/sm80.cuh"
#include "attention/cuda/visible_keys.cuh"

namespace isentropic::cuda {

// The gradient of one score, and the weight that values see.
struct ScoreGradient {
  float weight, gradient, slope;
};

// With t = log2(e) (s - m):  P = 2^(t - l),  dS = P (gate dP + base + a1 t + a2 (t - e)^2 + a3 P),  where base has
// taken in what a1 t lacks of a1 (s - E).
template <BackwardTerms kTerms>
struct RowTerms {
  static constexpr bool kAll = kTerms != BackwardTerms::entropy, kExtras = kTerms >= BackwardTerms::extras;
  static constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

  float lambda, m, l, gate, base, a1;
  float e, a2, a3;             // kAll
  float cap, slope, position;  // kExtras

  // read(array): the row's number.
  template <class Read>
  __device__ RowTerms(const BackwardProblem& in, Read read, int h, std::int64_t position_of_row) {
    const Problem& p = in.problem;
    const float highest = read(RowArray::max_score), mean = read(RowArray::mean_score), a = read(RowArray::a1);
    const bool empty = highest == -INFINITY;
    lambda = kLog2E * (p.scales ? read(RowArray::scale) : static_cast<float>(p.scale));
    m = empty ? 0.0f : __fmul_rn(highest, kLog2E);  // as the forward pass has it
    l = empty ? INFINITY : kLog2E * read(RowArray::log_partition);
    gate = in.rows.gate ? read(RowArray::gate) : 1.0f;
    if (isnan(gate)) l = gate, gate = 1.0f;  // which a weight of 0 would not hide
    base = fmaf(-a, mean, read(RowArray::base));
    a1 = kLn2 * a;
    if constexpr (kAll) {
      e = kLog2E * mean;
      a2 = kLn2 * kLn2 * read(RowArray::a2);
      a3 = read(RowArray::a3);
    }
    if constexpr (kExtras) {
      cap = kLog2E * static_cast<float>(p.soft_cap);
      slope = p.slopes ? kLog2E * static_cast<const float*>(p.slopes)[h] : 0.0f;
      position = static_cast<float>(position_of_row);
    }
  }

  // r = q.k of key j, dP = gO.v, which may be anything where the key is not seen. `added` joins the score in place
  // of slopes (kDense); what dropout does to the weight is `factor`.
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
      t = kTerms == BackwardTerms::dense ? fmaf(kLog2E, added, s) - m : fmaf(-slope, distance, s) - m;
    } else {
      t = fmaf(r, lambda, -m);
    }
    const float weight = seen ? exp2_fast(t - l) : 0.0f;
    float rest = fmaf(a1, t, base);
    if constexpr (kAll) {
      const float from_mean = t - e;
      rest = fmaf(a2 * from_mean, from_mean, rest);
      rest = fmaf(a3, weight, rest);
    }
    if constexpr (kTerms == BackwardTerms::dense) dP = factor == 0 ? 0.0f : factor * dP;
    const float dS = seen ? weight * fmaf(gate, dP, rest) : 0.0f;
    return {factor * gate * weight, cap_slope * dS, -distance * dS};
  }
};

}  // namespace isentropic::cuda
