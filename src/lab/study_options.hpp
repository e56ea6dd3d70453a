// Study options as JSON for study.json, and back: for types with NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE.
#pragma once

#include <nlohmann/json.hpp>

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

}  // namespace isentropic::lab
