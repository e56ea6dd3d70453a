// Tensors that are in use, saved by name with the number of steps that made them, and read back into place.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace isentropic::lab {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// As float32.
void save_tensors(const std::string& path, const NamedTensors& tensors, std::int64_t steps);
// Returns the steps. Throws Error unless the file holds exactly such tensors.
std::int64_t restore_tensors(const std::string& path, const NamedTensors& tensors);

}  // namespace isentropic::lab
