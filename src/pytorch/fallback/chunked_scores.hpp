// The scores of some rows of a problem, composed of differentiable PyTorch operators.
#pragma once

#include <ATen/ATen.h>

#include "pytorch/bound_problem.hpp"

namespace isentropic::pytorch {

// The tensors that gradients are taken of, in the type of sums.
struct Leaves {
  at::Tensor query, key, value;  // their finite parts; value may be undefined
  at::Tensor lambda;             // [batch, heads, n_q]
  at::Tensor bias, sink;         // may be undefined
};

// The original query, key and value, if any of their numbers is not finite: products must not leak what is hidden.
// Undefined if all are finite.
struct NotFinite {
  at::Tensor query, key, value;
};

class ChunkedScores {
 public:
  ChunkedScores(const BoundProblem& bound, at::Device device);

  // Which keys the rows [begin, end) see: boolean, broadcastable to [batch, heads, rows, n_k].
  at::Tensor visible(std::int64_t begin, std::int64_t end) const;
  // Their scores [batch, heads, rows, n_k]; -inf where hidden.
  at::Tensor scores(const Leaves& leaves, const NotFinite& inputs, std::int64_t begin, std::int64_t end) const;
  // Number of rows to process at a time.
  std::int64_t rows_at_a_time() const;

 private:
  at::Tensor distance(std::int64_t begin, std::int64_t end) const;  // query position minus key position
  at::Tensor bias(const at::Tensor& values, std::int64_t begin, std::int64_t end) const;

  const BoundProblem& bound_;
  at::TensorOptions integers_;
  at::Tensor position_, document_begin_, document_end_;  // [batch, 1, n_q, 1]
  at::Tensor keys_;                                      // [n_k]
};

}  // namespace isentropic::pytorch
