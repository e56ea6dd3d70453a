// The families of Hugging Face checkpoints: how config.json describes each, and how it names its tensors.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/config.hpp"
#include "model/description.hpp"

namespace isentropic::model {

// Our name of a module and the checkpoint's; # is the layer's number. A leading / means: without the prefix.
struct StoredName {
  const char* ours;
  const char* stored;
  bool transposed = false;  // stored as [in, out]
};

struct Family {
  const char* model_type;
  void (*describe)(const checkpoint::Config& config, Description& out);
  std::vector<const char*> prefixes;  // one for checkpoints of whole models, another for their trunks
  std::vector<StoredName> names;
};

const std::vector<Family>& families();

// The family of config.json's model_type. Throws Error, listing the known ones, if it is unknown.
const Family& family_of(const checkpoint::Config& config);

// nullptr if the type is unknown.
const Family* find_family(const std::string& model_type);

// Reads and checks everything the model needs. The section "isentropic" of config.json, which our own models have, sets
// the scale law and the score map.
Description describe(const checkpoint::Config& config);

}  // namespace isentropic::model
