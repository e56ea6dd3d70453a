// Parts of tokenizer.json by the name in their field "type": one table per kind of part.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "isentropic/error.hpp"
#include "tokenizer/json_access.hpp"

namespace isentropic::tokenizer {

template <typename Base>
using Types = std::map<std::string, std::unique_ptr<Base> (*)(const Field&)>;

// For such a table: makes a Part from its field, or from nothing if it has no fields.
template <typename Base, typename Part>
std::unique_ptr<Base> make(const Field& field) {
  if constexpr (std::is_constructible_v<Part, const Field&>)
    return std::make_unique<Part>(field);
  else
    return std::make_unique<Part>();
}

// Throws Error, listing the known types, for an unknown one.
template <typename Base>
std::unique_ptr<Base> make_by_type(const Types<Base>& types, const Field& field) {
  const Field type = field["type"];
  const auto found = types.find(type.string());
  if (found != types.end()) return found->second(field);
  std::string known;
  for (const auto& [name, unused] : types) known += (known.empty() ? "" : ", ") + name;
  type.refuse("one of " + known);
}

// The parts of a Sequence. The limit is far above real files: work and recursion grow with the number of parts.
inline std::vector<Field> parts_of_sequence(const Field& field) {
  constexpr std::size_t maximum = 64;
  field.require_array();
  if (field.value().size() > maximum) field.refuse("at most " + std::to_string(maximum) + " parts");
  return field.elements();
}

}  // namespace isentropic::tokenizer
