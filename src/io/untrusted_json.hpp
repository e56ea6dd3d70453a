// JSON from untrusted files: limits against hostile text, and values as shown in error messages.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace isentropic::io {

// A value takes up to about 100 bytes of memory, however short its text.
struct JsonLimits {
  std::size_t depth;
  std::size_t values;
};

// Parses `text` as an object. Throws Error, which begins with `place` (a file, or a part of it), if the text is not
// JSON, is not an object, exceeds the limits, or repeats a key within an object.
nlohmann::json parse_object(const std::string& place, std::string_view text, const JsonLimits& limits);

// For messages: one line of ASCII JSON, truncated if long.
std::string excerpt(const nlohmann::json& value);

// The member of an object, or null if absent.
const nlohmann::json* member(const nlohmann::json& object, std::string_view key);

// Whether the value is an integer from 0 to 2^63 - 1.
bool is_size(const nlohmann::json& value);

}  // namespace isentropic::io
