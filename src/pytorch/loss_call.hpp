// A loss as the operator receives it, on PyTorch's threads.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <vector>

#include "isentropic/softmax_loss.hpp"
#include "pytorch/executor.hpp"
#include "pytorch/tensors.hpp"

namespace isentropic::pytorch {

struct LossCall {
  LossCall(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target, const at::Tensor& scale,
           const std::optional<at::Tensor>& bias, std::optional<double> soft_cap, bool others) {
    const auto keep = [&](const at::Tensor& tensor, const char* argument) {
      kept.push_back(with_contiguous_rows(tensor));
      return view_of(kept.back(), argument);
    };
    problem.query = keep(query, "query");
    problem.key = keep(key, "key");
    problem.target = keep(target, "target");
    problem.scale = scale.item<double>();
    if (bias) problem.bias = keep(*bias, "bias");
    problem.soft_cap = soft_cap;
    problem.others = others;
    problem.executor = &threads;
  }
  LossCall(const LossCall&) = delete;

  SoftmaxLossProblem problem;
  std::vector<at::Tensor> kept;
  TorchThreads threads;
};

}  // namespace isentropic::pytorch
