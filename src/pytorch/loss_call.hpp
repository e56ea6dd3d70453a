// A loss as the operator receives it, run on PyTorch's threads.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "isentropic/softmax_loss.hpp"
#include "pytorch/executor.hpp"
#include "pytorch/tensors.hpp"

namespace isentropic::pytorch {

struct LossCall {
  LossCall(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target, const at::Tensor& scale,
           const std::optional<at::Tensor>& bias, std::optional<double> soft_cap, bool exclude_self) {
    problem.query = keep_alive(query, "query");
    problem.key = keep_alive(key, "key");
    problem.target = keep_alive(target, "target");
    if (scale.is_cpu()) problem.scale = scale.item<double>();  // a device's stays there: reading it would synchronise
    if (bias) problem.bias = keep_alive(*bias, "bias");
    problem.soft_cap = soft_cap;
    problem.exclude_self = exclude_self;
    problem.executor = &threads;
  }
  LossCall(const LossCall&) = delete;

  SoftmaxLossProblem problem;
  TensorKeepAlive keep_alive;
  TorchThreads threads;
};

}  // namespace isentropic::pytorch
