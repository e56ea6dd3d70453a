// Pages as a reader gets them: in Chromium, after their script has run. Without a browser a test fails and says so.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace support {

// What the page shows: its document, without the scripts at its end.
std::string drawn(const std::string& path);

// What a script finds in the page when it is `width` pixels wide, as on a phone: the value of a JavaScript expression.
nlohmann::json found_at_width(const std::string& path, int width, const std::string& expression);

// Where `wanted` begins in the text, overlaps included.
int count(const std::string& text, const std::string& wanted);

}  // namespace support
