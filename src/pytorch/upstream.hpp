// Upstream gradients of an operator's results, in the form the library takes.
//
// The library has gradients of L, H, E, V and sum p^2; the other differentiable statistics are derived from these:
//
//   normalised_entropy  H / log k            effective_keys  e^H
//   participation       1 / sum p^2          sparsity        1 / sqrt(k sum p^2)
//   sink_mass           e^{sigma - L}
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <vector>

#include "isentropic/attention.hpp"

namespace isentropic::pytorch {

class Upstream {
 public:
  Upstream(const AttentionProblem& problem, const AttentionResult& forward, const std::optional<at::Tensor>& output,
           const std::optional<at::Tensor>& statistics);

  AttentionUpstream views() const;
  // The gradient that sink_mass contributes to sigma directly, [heads].
  at::Tensor sink_share() const;

 private:
  struct Row {
    double log_partition = 0, entropy = 0, mean_score = 0, score_variance = 0, collision = 0, sink = 0;
  };
  Row row(const SoftmaxRecord<double>& record, double sink_mass, const double* gradients, std::int64_t stride) const;

  std::vector<Statistic> names_;
  Shape rows_;  // [batch, heads, n_q]
  at::Tensor output_;
  bool of_statistics_ = false;
  std::vector<double> log_partition_, entropy_, mean_score_, score_variance_, collision_, sink_;
  MomentSet moments_;
};

}  // namespace isentropic::pytorch
