// Runs a problem on PyTorch's threads.
#pragma once

#include "attention/problem/dims.hpp"
#include "attention/problem/validate.hpp"
#include "pytorch/bound_problem.hpp"
#include "pytorch/executor.hpp"

namespace isentropic::pytorch {

struct CpuCall : BoundProblem {
  CpuCall(std::string_view text, const at::Tensor& query, const at::Tensor& key, const std::optional<at::Tensor>& value,
          at::TensorList given)
      : BoundProblem(text, query, key, value, given) {
    validate(problem, value ? ValueUse::required : ValueUse::ignored);
    problem.executor = worth_threads(problem) ? static_cast<Executor*>(&threads_) : &serial_executor();
  }

 private:
  TorchThreads threads_;
};

}  // namespace isentropic::pytorch
