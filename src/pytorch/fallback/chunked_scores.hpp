// The scores of some rows of a problem, out of differentiable PyTorch operators.
#pragma once

#include <ATen/ATen.h>

#include "pytorch/bound_problem.hpp"

namespace isentropic::pytorch {

// What gradients are taken of, in the type of sums.
struct Leaves {
  at::Tensor query, key, value;  // their finite parts; value may be undefined
  at::Tensor lambda;             // [batch, heads, n_q]
  at::Tensor bias, sink;         // may be undefined
};

// Query, key and value as they are, where some number of them is not finite: products must not let through what is
// hidden. Undefined where all are.
struct NotFinite {
  at::Tensor query, key, value;
};

class ChunkedScores {
 public:
  ChunkedScores(const BoundProblem& bound, at::Device device);

  // Which keys the rows [begin, end) see: boolean, to be broadcast to [batch, heads, rows, n_k].
  at::Tensor visible(std::int64_t begin, std::int64_t end) const;
  // Their scores [batch, heads, rows, n_k], hidden ones -inf.
  at::Tensor scores(const Leaves& leaves, const NotFinite& inputs, std::int64_t begin, std::int64_t end) const;
  // Rows to take at a time.
  std::int64_t rows_at_a_time() const;

 private:
  at::Tensor distance(std::int64_t begin, std::int64_t end) const;  // position of the query minus that of the key
  at::Tensor bias(const at::Tensor& values, std::int64_t begin, std::int64_t end) const;

  const BoundProblem& bound_;
  at::TensorOptions integers_;
  at::Tensor position_, document_begin_, document_end_;  // [batch, 1, n_q, 1]
  at::Tensor keys_;                                      // [n_k]
};

}  // namespace isentropic::pytorch
