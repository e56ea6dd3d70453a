// Maps our tensor names to a family's.
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

// Where "layers.3.query.weight" is stored; nothing if the family has no such tensor.
std::optional<StoredPlace> stored_place(const Family& family, const std::string& prefix, const std::string& name);

// A tensor in its stored form, without a copy; it must be contiguous, on the CPU, and of that type.
checkpoint::StoredTensor to_stored(const std::string& name, const at::Tensor& tensor, checkpoint::ElementType type);

}  // namespace isentropic::model
