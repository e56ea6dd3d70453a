// The streaming softmax as a loss: InfoNCE, cross-entropy over a vocabulary, and anything else of the form
// log-partition minus score.
//
// For query i and all keys:  s_ij = lambda q_i.k_j, soft cap, bias_j added;  L_i = log sum_j e^{s_ij};  t the target.
// The loss is L_i - s_it; L_i and the entropy are returned with it, so that the caller can add smoothing and penalties.
// The N x M matrix is never formed: forward and backward work on one block of queries and one block of keys at a time,
// whose memory is all they need beyond inputs, results and gradients.
//
// A row that is confident of its target has a loss far below the rounding error of L and s. The target is therefore
// left out of the stream and added at the end: with L' over the other keys,
//
//   loss = log(1 + e^{L' - s_t}) >= 0,   d loss / d s_j = p_j,   d loss / d s_t = -(1 - p_t) = expm1(-loss),
//
// and nothing cancels. d L_i / d q_i = lambda E_p[k], d L_i / d k_j = lambda p_ij q_i: attention's gradients without
// values. A row whose upstream gradients are all 0 contributes nothing to any gradient, whatever it contains.
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
  View target;       // int64 [N]: a key, or -1 for no target, with loss 0
  double scale = 1;  // lambda = 1 / temperature
  View bias = {};    // [M], floating
  std::optional<double> soft_cap = {};
  bool exclude_self = false;  // queries are the keys: a row does not see its own key
  Executor* executor = nullptr;
};

struct SoftmaxLossResult {
  std::vector<SoftmaxRecord<double>> records;  // [N]: log_partition(), entropy() of softmax_record.hpp
  std::vector<double> loss;                    // [N]; >= 0 where the row sees its target
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
