// A model folder as Hugging Face lays it out: config.json and safetensors.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "model/transformer.hpp"

namespace isentropic::model {

struct OpenOptions {
  at::Device device = at::kCPU;
  // Type of the weights and of the computation; absent: as stored.
  std::optional<at::ScalarType> type = {};
};

// Opens a folder (or a safetensors file beside its config.json). Weights stay in the mapped file where type and device
// allow it. Throws Error, which names the file, where something is missing, wrong, or of a family that is not known.
Transformer open_model(const std::string& path, const OpenOptions& options = {});

}  // namespace isentropic::model
