// Gradients of softmax attention on tensor cores.
//
//   dS = P o (gate dP + base + a1 (s - E) + a2 (s - E)^2 + a3 P),   P = e^{(s - m) - (L - m)},   dP = gO V^T
//
// (isentropic/attention.hpp), then through bias, cap and lambda: dx = dS cap'(x), G = sum_j dx_j k_j, dQ = lambda G,
// dlambda = q.G, dK = sum_i lambda_i dx_i q_i, dV = sum_i gate_i P_i gO_i.
#pragma once

#include <cstddef>

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// RowConstants of isentropic/attention.hpp, one array per field, real [batch, heads, n_q].
struct RowConstantArrays {
  void *max_score = nullptr, *log_partition = nullptr, *mean_score = nullptr;  // m, L - m, E - m
  void *gate = nullptr, *base = nullptr;
  void *a1 = nullptr, *a2 = nullptr, *a3 = nullptr;  // null: 0
};

// A null result is not computed. Gradients of query, key and value have the type of the inputs, the others are real.
struct Gradients {
  void *query = nullptr, *key = nullptr, *value = nullptr;
  Strides query_stride, key_stride, value_stride;
  void* lambda = nullptr;    // [batch, heads, n_q]
  void* slopes = nullptr;    // [heads]
  void* bias = nullptr;      // contiguous [batch, heads, n_q, n_k], of the finished score: for each visible entry
  void* relative = nullptr;  // [heads, 2 reach + 1]
};

struct BackwardProblem {
  Problem problem;  // as in the forward pass
  RowConstantArrays rows;
  const void* output_gradient = nullptr;  // type of the inputs; null: none
  Strides output_gradient_stride;
  Gradients gradients;
  bool deterministic = false;  // dQ is then also summed in a fixed order, as everything else always is
  void* workspace = nullptr;   // backward_workspace(problem) bytes, aligned to 256
};

bool has_backward(const BackwardProblem& problem);
std::size_t backward_workspace(const BackwardProblem& problem);
cudaError_t backward(const BackwardProblem& problem, cudaStream_t stream);

}  // namespace isentropic::cuda
