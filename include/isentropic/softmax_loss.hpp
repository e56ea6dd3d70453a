// The streaming softmax as a loss: InfoNCE, cross-entropy over a vocabulary, and what else is log-partition minus
// score.
//
// For query i and all keys:  s_ij = lambda q_i.k_j, soft cap, bias_j added;  L_i = log sum_j e^{s_ij};  t the target.
// The loss is L_i - s_it; L_i and the entropy come with it, so that smoothing and penalties are the caller's sums. The
// N x M matrix is never formed: a block of queries meets a block of keys, forward and backward, and memory beyond
// inputs, results and gradients is that of these two.
//
// A row that is sure of its target has a loss far below the rounding of L and s. The target is therefore left out of
// the stream and joins it at the end: with L' over the other keys,
//
//   loss = log(1 + e^{L' - s_t}) >= 0,   d loss / d s_j = p_j,   d loss / d s_t = -(1 - p_t) = expm1(-loss),
//
// and nothing cancels. d L_i / d q_i = lambda E_p[k], d L_i / d k_j = lambda p_ij q_i: attention's gradients with no
// value at all. A row whose upstream gradients are all 0 gives nothing to any gradient, whatever it holds.
//
// By hand: q = (1, 0), keys (1, 0) and (0, 1), lambda = 1: L = log(e + 1) = 1.31326, loss of key 0: 0.31326.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isentropic/executor.hpp"
#include "isentropic/export.hpp"
#include "isentropic/softmax_record.hpp"
#include "isentropic/tensor.hpp"

namespace isentropic {

struct SoftmaxLossProblem {
  View query;        // [N, d]
  View key;          // [M, d], same type
  View target;       // int64 [N]: a key, or -1: no target, the loss is 0
  double scale = 1;  // lambda = 1 / temperature
  View bias = {};    // [M], floating
  std::optional<double> soft_cap = {};
  bool exclude_self = false;  // queries are the keys: a row does not see its own
  Executor* executor = nullptr;
};

struct SoftmaxLossResult {
  std::vector<SoftmaxRecord<double>> records;  // [N]: log_partition(), entropy() of softmax_record.hpp
  std::vector<double> loss;                    // [N]; not below 0 where the row sees its target
};

struct SoftmaxLossUpstream {
  View loss = {};  // each [N], floating; absent means 0
  View log_partition = {};
  View entropy = {};
};

struct SoftmaxLossGradients {
  Tensor query, key;  // type and shape of the inputs
  double scale = 0;
  Tensor bias;  // [M] float32 (float64 for float64 inputs); absent without a bias
};

ISENTROPIC_API SoftmaxLossResult softmax_loss(const SoftmaxLossProblem& problem);
ISENTROPIC_API SoftmaxLossGradients softmax_loss_backward(const SoftmaxLossProblem& problem,
                                                          const SoftmaxLossResult& forward,
                                                          const SoftmaxLossUpstream& upstream);

}  // namespace isentropic
