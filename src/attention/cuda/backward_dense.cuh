// Terms the backward pass reads or draws for each score of a row: key tests, additive terms, dropout.
#pragma once

#include "attention/cuda/scores.cuh"

namespace isentropic::cuda {

class DenseRow {
 public:
  __device__ DenseRow(const Problem& problem, std::int64_t b_, std::int64_t h_, std::int64_t i_)
      : p(problem), b(b_), h(h_), row(score_row<float>(problem, {b_, h_}, i_)) {}

  __device__ bool operator()(int j) const { return sees(p, Head{b, h}, row, j); }

  // The terms added to the score of a visible key.
  __device__ float added(int j) const {
    const bool any = p.tests.mask.data || p.bias.data || p.slopes || p.relative;
    return any ? score_terms<float>(p, b, h, row.i, row.position, j) : 0.0f;
  }
  // Dropout factors for the weights of keys j and j + 1, j even.
  __device__ DropoutFactors<float> dropout(int j) const {
    DropoutFactors<float> factors(p, {b, h}, row.i, j & ~3);
    factors.kept >>= j & 3;
    return factors;
  }

 private:
  const Problem& p;
  const std::int64_t b, h;
  const ScoreRow<float> row;
};

}  // namespace isentropic::cuda
