// Tensors in use, saved by name with a number of steps, and restored in place.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace isentropic::lab {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Stores float32.
void save_tensors(const std::string& path, const NamedTensors& tensors, std::int64_t steps);
// Copies the stored values into `tensors` and returns the steps. Throws Error if a tensor is missing or has another
// shape; others in the file are ignored.
std::int64_t restore_tensors(const std::string& path, const NamedTensors& tensors);

}  // namespace isentropic::lab
