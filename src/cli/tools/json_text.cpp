// Indents objects, and arrays of them.
#include "cli/tools/json_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace isentropic::cli {
namespace {

using Json = nlohmann::ordered_json;

bool holds_an_object(const Json& json) {
  return std::ranges::any_of(json, [](const Json& x) { return x.is_object() || (x.is_array() && holds_an_object(x)); });
}

bool fits_a_line(const Json& json) {
  if (json.is_object()) return std::ranges::none_of(json, &Json::is_structured);
  return !json.is_array() || !holds_an_object(json);
}

std::string in_a_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void write(const Json& json, std::size_t depth, std::string* out) {
  if (depth > 0 && fits_a_line(json)) {
    *out += in_a_line(json);
    return;
  }
  const std::string line = "\n" + std::string(2 * depth, ' ');
  *out += json.is_object() ? '{' : '[';
  bool is_first = true;
  for (const auto& [key, value] : json.items()) {
    *out += (is_first ? "" : ",") + line + "  ";
    if (json.is_object()) *out += in_a_line(key) + ": ";
    write(value, depth + 1, out);
    is_first = false;
  }
  *out += (is_first ? "" : line) + (json.is_object() ? "}" : "]");
}

}  // namespace

std::string json_text(const Json& json) {
  std::string out;
  if (json.is_structured())
    write(json, 0, &out);
  else
    out = in_a_line(json);
  return out + "\n";
}

}  // namespace isentropic::cli
