// Reads JSON values and reports what is wrong with them.
#include "tokenizer/json_access.hpp"

#include <algorithm>
#include <cctype>

#include "io/untrusted_json.hpp"
#include "isentropic/error.hpp"
#include "tokenizer/utf8.hpp"

namespace isentropic::tokenizer {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestName = 60;  // of a field; longer ones are shortened

// Field names are shown as they are; tokens, which may contain anything, in quotes.
std::string step_to(const std::string& name, bool first) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (name.empty() || name.size() > kLongestName || !std::ranges::all_of(name, is_plain))
    return std::string("[").append(io::excerpt(name)).append("]");
  std::string out(first ? "" : ".");
  return out.append(name);
}

std::string shown(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array of " + std::to_string(value.size());
  return io::excerpt(value);
}

}  // namespace

void Field::refuse(const std::string& expected) const { throw Error(place(), shown(*value_), expected); }

Field Field::member(const std::string& name, const json& value) const {
  return {value, document_, path_ + step_to(name, path_.empty())};
}

Field Field::operator[](const std::string& name) const {
  require_object();
  const auto found = value_->find(name);
  if (found == value_->end()) throw Error(member(name, *value_).place(), "missing", "a value");
  return member(name, *found);
}

std::optional<Field> Field::find(const std::string& name) const {
  require_object();
  const auto found = value_->find(name);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return member(name, *found);
}

Field Field::at(std::size_t index) const {
  return {(*value_)[index], document_, path_ + "[" + std::to_string(index) + "]"};
}

std::vector<Field> Field::elements() const {
  require_array();
  std::vector<Field> out;
  for (std::size_t i = 0; i < value_->size(); ++i) out.push_back(at(i));
  return out;
}

const std::string& Field::string() const {
  if (!value_->is_string()) refuse("a string");
  return value_->get_ref<const std::string&>();
}

bool Field::boolean() const {
  if (!value_->is_boolean()) refuse("true or false");
  return value_->get<bool>();
}

std::int64_t Field::integer(std::int64_t maximum) const {
  const bool whole =
      value_->is_number_unsigned() && value_->get<std::uint64_t>() <= static_cast<std::uint64_t>(maximum);
  if (!whole) refuse("an integer from 0 to " + std::to_string(maximum));
  return value_->get<std::int64_t>();
}

char32_t Field::character() const {
  if (count_code_points(string()) != 1) refuse("one character");
  std::size_t position = 0;
  return next_code_point(string(), &position);
}

std::string Field::string_or(const std::string& name, const std::string& otherwise) const {
  const std::optional<Field> field = find(name);
  return field ? field->string() : otherwise;
}

bool Field::boolean_or(const std::string& name, bool otherwise) const {
  const std::optional<Field> field = find(name);
  return field ? field->boolean() : otherwise;
}

void Field::require_object() const {
  if (!value_->is_object()) refuse("an object");
}

void Field::require_array() const {
  if (!value_->is_array()) refuse("an array");
}

}  // namespace isentropic::tokenizer
