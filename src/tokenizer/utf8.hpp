// UTF-8: code points one by one, where a text is not valid, and replacement of what is not.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace isentropic::tokenizer {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// The code point that starts at `position` of valid UTF-8; `position` moves behind it.
char32_t next_code_point(std::string_view text, std::size_t* position);

// The code point that ends at `end` > 0 of valid UTF-8.
char32_t code_point_before(std::string_view text, std::size_t end);

// Bytes of the first code point of valid UTF-8; 0 for an empty text.
std::size_t first_code_point_length(std::string_view text);

std::size_t count_code_points(std::string_view text);

void append_code_point(char32_t code_point, std::string* text);
std::string to_utf8(char32_t code_point);

// What stands at `position` of bytes that may be anything: a code point, a beginning of one that the bytes end in the
// middle of, or an error. `length` counts the bytes of the code point, or those that one U+FFFD stands for.
struct Utf8Step {
  enum Kind { valid, incomplete, invalid } kind;
  std::size_t length;
};
Utf8Step utf8_step(std::string_view bytes, std::size_t position);

// The offset of the first byte that is not UTF-8; the size of the text when all of it is.
std::size_t invalid_utf8_at(std::string_view text);

}  // namespace isentropic::tokenizer
