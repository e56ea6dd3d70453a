// The values of a tensor on any device as doubles, in row-major order.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace isentropic::lab {

inline std::vector<double> numbers_of(const at::Tensor& x) {
  const at::Tensor values = x.to(at::kCPU, at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

}  // namespace isentropic::lab
