// Errors of the operators in PyTorch's terms: the library's Error becomes ValueError in Python, or TypeError.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <vector>

#include "isentropic/error.hpp"

namespace isentropic::pytorch {

struct WrongType : Error {
  using Error::Error;
};

// Inside `work`, throw Error rather than PyTorch's errors.
template <class Work>
auto with_python_errors(Work&& work) {
  try {
    return work();
  } catch (const WrongType& error) {
    C10_THROW_ERROR(TypeError, error.what());
  } catch (const Error& error) {
    C10_THROW_ERROR(ValueError, error.what());
  }
}

// The backward operators are called with gradients enabled only for double backward.
inline void refuse_second_derivative(const std::vector<at::Tensor>& inputs) {
  bool any = false;
  for (const at::Tensor& input : inputs) any = any || (input.defined() && input.requires_grad());
  TORCH_CHECK_NOT_IMPLEMENTED(!(any && at::GradMode::is_enabled()),
                              "isentropic has no second derivative: its backward pass cannot be differentiated "
                              "(create_graph=True). Use PyTorch's own operators where you need one.");
}

}  // namespace isentropic::pytorch
