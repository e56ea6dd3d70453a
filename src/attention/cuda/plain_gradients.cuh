// The gradient of one score in the plain backward sweeps, and the constants of each row.
//
//   P = e^{(s - m) - (L - m)},   dS = P (gate dP + base + a1 (s - E) + a2 (s - E)^2 + a3 P),   dx = dS cap'(x)
#pragma once

#include "attention/cuda/plain.hpp"
#include "attention/cuda/plain_tiles.cuh"

namespace isentropic::cuda::plain {

template <class R>
struct GradientRow {
  R m, log_partition, mean, gate, base, a1, a2, a3;
  bool silent;  // no upstream gradient at all, or no keys: the row contributes nothing, even if it contains NaN
};

// Shared memory of one sweep: 64 owners, tiles of products, and the rows on the inner axis.
template <class R>
struct GradientShared {
  R staged[kTile * kPitch], weights[kTile * kPitch];
  ScoreRow<R> rows[kTile];
  GradientRow<R> constants[kTile];
  KeyRange range;
};

// Arrays that hold partial sums between the sweeps and the end, in this order.
struct BackwardWorkspace {
  bool* silent;    // [batch, heads, n_q]
  void* slopes;    // real [batch, heads, n_q]: each row's contribution
  void* relative;  // real [batch, heads, tiles, 2 reach + 1]
};

template <class R>
__device__ inline GradientRow<R> gradient_row(const BackwardProblem& backward, const bool* silent, const Head& head,
                                              std::int64_t i) {
  const Problem& p = backward.problem;
  const RowConstantArrays& rows = backward.rows;
  GradientRow<R> out = {};
  out.silent = true;
  if (i >= p.n_q) return out;
  const std::int64_t place = (head.b * p.heads + head.h) * p.n_q + i;
  const auto at = [&](const void* array, R absent) { return array ? real_at<R>(array, place) : absent; };
  out.m = real_at<R>(rows.max_score, place), out.log_partition = real_at<R>(rows.log_partition, place);
  out.mean = at(rows.mean_score, R(0)), out.gate = at(rows.gate, R(1)), out.base = at(rows.base, R(0));
  out.a1 = at(rows.a1, R(0)), out.a2 = at(rows.a2, R(0)), out.a3 = at(rows.a3, R(0));
  out.silent = silent[place] || out.m == -kInfinity<R>;
  return out;
}

template <class R>
struct ScoreGradient {
  R weight;  // multiplies the value; sink and dropout included
  R score;   // dS
  R scaled;  // dx
};

// For a visible key; dp = gO.v, which is ignored if the weight is 0.
template <class R>
__device__ inline ScoreGradient<R> score_gradient(const Problem& p, const Head& head, const ScoreRow<R>& row,
                                                  const GradientRow<R>& constants, std::int64_t j, R product, R dp,
                                                  bool kept, R keep_factor) {
  const FinishedScore<R> finished = finish_score(p, head, row, j, product);
  const R x = finished.score - constants.m;
  const R weight = finished.score == -kInfinity<R> ? R(0) : exp(x - constants.log_partition);
  if (weight == R(0)) return {R(0), R(0), R(0)};
  const R t = x - constants.mean, through = kept ? keep_factor * dp : R(0);
  const R inner =
      constants.gate * through + constants.base + constants.a1 * t + constants.a2 * t * t + constants.a3 * weight;
  const R score = weight * inner;
  return {kept ? keep_factor * weight * constants.gate : R(0), score,
          score == R(0) ? R(0) : score * finished.cap_slope};
}

__device__ inline Matrix output_gradient_of(const BackwardProblem& backward, const Head& head) {
  const Problem& p = backward.problem;
  return matrix_of(backward.output_gradient, p.type, backward.output_gradient_stride, head.b, head.h, p.n_q, p.d_v);
}

template <class R>
cudaError_t sweep_queries(const BackwardProblem& problem, const BackwardWorkspace& workspace, cudaStream_t stream);
template <class R>
cudaError_t sweep_keys(const BackwardProblem& problem, const BackwardWorkspace& workspace, cudaStream_t stream);

}  // namespace isentropic::cuda::plain
