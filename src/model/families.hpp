// The families of Hugging Face checkpoints: how config.json describes each, and what it calls its tensors.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/config.hpp"
#include "model/description.hpp"

namespace isentropic::model {

// Our name of a module and the checkpoint's; # is the number of the layer. A leading / means: without the prefix.
struct StoredName {
  const char* ours;
  const char* stored;
  bool transposed = false;  // stored as [in, out]
};

struct Family {
  const char* model_type;
  void (*describe)(const checkpoint::Config& config, Description& out);
  std::vector<const char*> prefixes;  // checkpoints of whole models and of their trunks differ by one of these
  std::vector<StoredName> names;
};

const std::vector<Family>& families();

// The family of config.json's model_type; an Error that lists the known ones otherwise.
const Family& family_of(const checkpoint::Config& config);

// nullptr: none of that name.
const Family* find_family(const std::string& model_type);

// Reads and checks everything that the model needs. A section "isentropic" of config.json, which our own models have,
// sets scale law and score map.
Description describe(const checkpoint::Config& config);

}  // namespace isentropic::model
