// Text of unknown origin, made short and single-line for error messages.
#pragma once

#include <string>
#include <string_view>

namespace isentropic {

// Control characters become question marks; text beyond the first hundred bytes is dropped.
inline std::string one_line(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  std::size_t end = text.size();
  if (end > kLongest)
    for (end = kLongest; end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80;) --end;  // whole characters
  std::string out;
  for (const char c : text.substr(0, end)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  return out + (end < text.size() ? "..." : "");
}

inline std::string in_quotes(std::string_view text) { return std::string("'").append(one_line(text)).append("'"); }

}  // namespace isentropic
