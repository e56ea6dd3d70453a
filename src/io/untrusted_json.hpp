// JSON from files that nobody vouches for: limits against hostile text, and values as error messages show them.
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

// The object that `text` holds. Throws Error, which begins with `place` (a file, or a part of it), where the text is
// not JSON, not an object, beyond the limits, or gives a key of one object twice.
nlohmann::json parse_object(const std::string& place, std::string_view text, const JsonLimits& limits);

// For messages: as JSON, in one line of ASCII, its end left out when it is long.
std::string excerpt(const nlohmann::json& value);

// The member of an object, or null when it is absent.
const nlohmann::json* member(const nlohmann::json& object, std::string_view key);

// Whether the value is a whole number from 0 to 2^63 - 1.
bool is_size(const nlohmann::json& value);

}  // namespace isentropic::io
