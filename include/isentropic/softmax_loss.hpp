// The streaming softmax as a loss: InfoNCE, cross-entropy over a vocabulary, and what else is log-partition minus
// score.
//
// For query i and all keys:  s_ij = lambda q_i.k_j, soft cap, bias_j added;  L_i = log sum_j e^{s_ij};  the target's
// score s_i = s_{i, target_i}. The usual loss is L_i - s_i, but both come back, so that smoothing, penalties on L and
// several positives are the caller's sums. The N x M matrix is never formed: a block of queries meets a block of keys,
// forward and backward, and memory beyond inputs, results and gradients is that of these two.
//
//   d L_i / d q_i = lambda E_p[k],   d L_i / d k_j = lambda p_ij q_i:  attention's gradients with no value at all.
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
  View target;       // int64 [N]: a key, or -1: no target, its score is 0
  double scale = 1;  // lambda = 1 / temperature
  View bias = {};    // [M], floating
  std::optional<double> soft_cap = {};
  bool others = false;  // queries are the keys: a row does not see its own
  Executor* executor = nullptr;
};

struct SoftmaxLossResult {
  std::vector<SoftmaxRecord<double>> records;  // [N]: log_partition(), entropy() of softmax_record.hpp
  std::vector<double> target_score;            // [N]
};

struct SoftmaxLossUpstream {
  View log_partition = {};  // each [N], floating; absent means 0
  View entropy = {};
  View target_score = {};
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
