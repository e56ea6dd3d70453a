// From our names of tensors to a family's.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <string>

#include "checkpoint/stored_tensor.hpp"
#include "model/families.hpp"

namespace isentropic::model {

struct StoredPlace {
  std::string name;
  bool transposed = false;  // stored as [in, out]
};

// Of "layers.3.query.weight"; nothing where the family has no such tensor.
std::optional<StoredPlace> stored_place(const Family& family, const std::string& prefix, const std::string& name);

// A tensor as files hold it, without a copy; it must be contiguous, on the CPU, and of that type.
checkpoint::StoredTensor to_stored(const std::string& name, const at::Tensor& tensor, checkpoint::ElementType type);

}  // namespace isentropic::model
