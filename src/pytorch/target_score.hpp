// The operator isentropic::target_score and its backward: the part of soft-target losses beyond a streaming softmax.
//
//   loss_i = m_i L_i - sum_j t_ij s_ij,   s_iv = (cap(x_i . w_v) + b_v) / temperature
//
// L is the log-partition (losses.hpp); this operator computes the sum, the mass m_i = sum_j t_ij, the entropy -sum_j
// t_ij log t_ij and the marginal sum_i t_iv of the targets. These are given as [N, V], or as [N, k] with their class
// ids, int64 [N, k]; as probabilities, or as logits: t_i = softmax(target_i / temperature). Both passes process some
// rows at a time: nothing of size [N, V] is created. Rows that are not counted give 0. Targets get no gradient.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <tuple>

#include "isentropic/export.hpp"

namespace isentropic::pytorch {

using TargetScore =
    std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;               // score, mass, entropy [N]; marginal [V]
using TargetScoreGradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;  // query, key, bias

using TargetScoreOperator = TargetScore(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                                        const std::optional<at::Tensor>& ids, const std::optional<at::Tensor>& bias,
                                        const at::Tensor& counted, std::optional<double> soft_cap, double temperature,
                                        bool logits);

using TargetScoreBackwardOperator = TargetScoreGradients(const at::Tensor& query, const at::Tensor& key,
                                                         const at::Tensor& target, const std::optional<at::Tensor>& ids,
                                                         const std::optional<at::Tensor>& bias,
                                                         const at::Tensor& counted, std::optional<double> soft_cap,
                                                         double temperature, bool logits,
                                                         const at::Tensor& score_gradient);

// The operators, dispatched on the device. counted: bool [N].
ISENTROPIC_API TargetScoreOperator target_score;
ISENTROPIC_API TargetScoreBackwardOperator target_score_backward;

}  // namespace isentropic::pytorch
