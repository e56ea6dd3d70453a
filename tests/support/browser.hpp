// Pages as a reader sees them: rendered in Chromium, after their script has run. Tests fail without a browser.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace support {

// The rendered document, without the scripts at its end.
std::string drawn(const std::string& path);

// The value of a JavaScript expression evaluated in the page at a width of `width` pixels, e.g. that of a phone.
nlohmann::json found_at_width(const std::string& path, int width, const std::string& expression);

// Number of occurrences of `wanted` in the text, overlaps included.
int count(const std::string& text, const std::string& wanted);

}  // namespace support
