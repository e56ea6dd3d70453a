// A model folder in Hugging Face's layout: config.json and safetensors.
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

// Opens a folder (or a safetensors file next to its config.json). Weights stay in the mapped file if type and device
// allow it. Throws Error, naming the file, if something is missing or wrong, or if the family is unknown.
Transformer open_model(const std::string& path, const OpenOptions& options = {});

// What a model folder contains besides the weights.
struct FolderTexts {
  std::string tokenizer_json;
  std::string end_token;                    // end of text, as the tokenizer spells it; "": none
  std::optional<std::int64_t> end_id = {};  // its id
  std::string mask_token = {};              // for masked language models
};

// config.json as Hugging Face writes it for the description's family.
std::string config_text(const Description& model, const FolderTexts& texts, at::ScalarType type);

// Writes config.json, model.safetensors, tokenizer.json, tokenizer_config.json and generation_config.json into an
// existing folder, each atomically. Weights are rounded to `type`.
void write_model(const std::string& folder, const Transformer& model, const FolderTexts& texts, at::ScalarType type);

}  // namespace isentropic::model
