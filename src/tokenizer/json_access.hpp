// A value of a JSON document together with its location, so that every error names file and field.
//
//   Field root = ...;                       "tokenizer.json"
//   root["model"]["unk_token"].string()     Error: tokenizer.json: model.unk_token is 3; expected a string
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace isentropic::tokenizer {

class Field {
 public:
  // `value` must outlive the field. `path` is its path from the root of the document ("model.merges[3]").
  Field(const nlohmann::json& value, std::string document, std::string path = "")
      : value_(&value), document_(std::move(document)), path_(std::move(path)) {}

  const nlohmann::json& value() const { return *value_; }
  // "tokenizer.json: model.merges[3]"
  std::string place() const { return path_.empty() ? document_ : document_ + ": " + path_; }

  // Throws Error(place, value, expected).
  [[noreturn]] void refuse(const std::string& expected) const;

  // A member of an object; throws if it is missing.
  Field operator[](const std::string& name) const;
  // Nothing if the member is absent or null.
  std::optional<Field> find(const std::string& name) const;
  // An element of an array; throws if it is missing.
  Field at(std::size_t index) const;
  std::vector<Field> elements() const;

  const std::string& string() const;
  bool boolean() const;
  // From 0 to `maximum`.
  std::int64_t integer(std::int64_t maximum) const;
  // A string of one character.
  char32_t character() const;

  std::string string_or(const std::string& name, const std::string& otherwise) const;
  bool boolean_or(const std::string& name, bool otherwise) const;

  void require_object() const;
  void require_array() const;

 private:
  Field member(const std::string& name, const nlohmann::json& value) const;

  const nlohmann::json* value_;
  std::string document_, path_;
};

}  // namespace isentropic::tokenizer
