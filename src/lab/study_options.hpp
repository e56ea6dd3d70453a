// Study options: written to study.json and read back, for types with NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE; lists checked.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "isentropic/error.hpp"

namespace isentropic::lab {

template <class Study>
nlohmann::ordered_json options_to_json(const Study& study) {
  return nlohmann::ordered_json(nlohmann::json(study));
}

// Throws Error if a field is missing or has another type.
template <class Study>
Study options_from_json(const nlohmann::ordered_json& options) {
  try {
    return nlohmann::json(options).get<Study>();
  } catch (const nlohmann::json::exception& error) {
    throw Error("study.json", "not as it was written", error.what());
  }
}

// Throws Error if an entry occurs twice: the seeds of both would count as those of one.
inline void require_each_once(const char* name, const std::vector<std::string>& entries) {
  for (auto entry = entries.begin(); entry != entries.end(); ++entry)
    if (std::find(entries.begin(), entry, *entry) != entry) throw Error(name, "'" + *entry + "' twice", "each once");
}

}  // namespace isentropic::lab
