// Replaces control characters and invalid UTF-8 before text reaches a terminal.
#include "cli/tools/terminal.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace isentropic::cli {
namespace {

unsigned char byte(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

// Number of bytes of the UTF-8 character that starts here; 0 if there is none.
std::size_t character_length(std::string_view text, std::size_t at) {
  const unsigned char first = byte(text, at);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(text, at + i) & 0xC0) != 0x80) return 0;
  return length;
}

// C0, DEL and C1 (U+0080 ... U+009F, the bytes C2 80 ... C2 9F).
bool is_control(std::string_view text, std::size_t at) {
  const unsigned char first = byte(text, at);
  return first < 0x20 || first == 0x7F || (first == 0xC2 && byte(text, at + 1) < 0xA0);
}

std::string shown(std::string_view text, std::string_view allowed) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text, at);
    const bool plain = length > 0 && (allowed.find(text[at]) != allowed.npos || !is_control(text, at));
    if (plain)
      out.append(text, at, length);
    else
      for (std::size_t i = 0; i < std::max<std::size_t>(length, 1); ++i)
        out += fmt::format("\\x{:02x}", byte(text, at + i));
    at += std::max<std::size_t>(length, 1);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return shown(text, "\n\t"); }
std::string printable_line(std::string_view text) { return shown(text, ""); }

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

bool standard_output_failed() { return std::fflush(stdout) != 0 || std::ferror(stdout) != 0; }

}  // namespace isentropic::cli
