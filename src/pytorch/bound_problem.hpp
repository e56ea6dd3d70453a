// A problem as an operator receives it: a text (attention/problem/problem_spec.hpp) and the tensors it names.
//
// A PyTorch schema has tensors, numbers and strings but no structures, and whatever is in a schema stays there for
// ever; so the text carries everything that is not a tensor.
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

  // One of the tensors besides query, key and value; null if the text does not name it.
  const at::Tensor* find(std::string_view name) const;

  std::shared_ptr<const ProblemSpec> spec;
  std::vector<at::Tensor> tensors;
  TensorKeepAlive keep_alive;  // owns what the problem's views point to
  AttentionProblem problem;
};

// ---- The statistics an operator returns, and in which tensor ----

struct StatisticsLayout {
  explicit StatisticsLayout(const AttentionProblem& problem);
  std::vector<Statistic> differentiable;  // in the operator's `statistics`
  std::vector<Statistic> measured;        // in `measures`, without a gradient
  std::vector<Statistic> counted;         // in `counts`, as integers
};

}  // namespace isentropic::pytorch
