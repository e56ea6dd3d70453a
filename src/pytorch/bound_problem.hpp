// A problem as an operator receives it: a text (attention/problem/problem_spec.hpp) and the tensors it names.
//
// A PyTorch schema knows tensors, numbers and strings but no structures, and what is in a schema is there for ever; the
// text holds whatever is not a tensor.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "attention/problem/problem_spec.hpp"
#include "pytorch/tensors.hpp"

namespace isentropic::pytorch {

struct BoundProblem {
  BoundProblem(std::string_view text, const at::Tensor& query, const at::Tensor& key,
               const std::optional<at::Tensor>& value, at::TensorList tensors);
  BoundProblem(const BoundProblem&) = delete;

  // One of the tensors beside query, key and value; null if the text names none of that name.
  const at::Tensor* find(std::string_view name) const;

  std::shared_ptr<const ProblemSpec> spec;
  std::vector<at::Tensor> tensors;
  TensorKeepAlive keep_alive;  // what the views of the problem look at
  AttentionProblem problem;
};

// ---- Which statistics an operator returns, and where ----

struct StatisticsLayout {
  explicit StatisticsLayout(const AttentionProblem& problem);
  std::vector<Statistic> differentiable;  // in the operator's `statistics`
  std::vector<Statistic> measured;        // in `measures`: no gradient
  std::vector<Statistic> counted;         // in `counts`: integers
};

}  // namespace isentropic::pytorch
