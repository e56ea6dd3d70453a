// UTF-8: iterates over code points, finds invalid bytes, and determines what each U+FFFD replaces.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace isentropic::tokenizer {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// The code point that starts at `position` of valid UTF-8; moves `position` past it.
char32_t next_code_point(std::string_view text, std::size_t* position);

// The code point that ends at `end` > 0 of valid UTF-8.
char32_t code_point_before(std::string_view text, std::size_t end);

// Length in bytes of the first code point of valid UTF-8; 0 for an empty text.
std::size_t first_code_point_length(std::string_view text);

std::size_t count_code_points(std::string_view text);

void append_code_point(char32_t code_point, std::string* text);
std::string to_utf8(char32_t code_point);

// What starts at `position` of arbitrary bytes: a code point, a code point cut off by the end of the bytes, or an
// error. `length` is the number of bytes in the code point, or of those that one U+FFFD replaces.
struct Utf8Step {
  enum Kind { valid, incomplete, invalid } kind;
  std::size_t length;
};
Utf8Step utf8_step(std::string_view bytes, std::size_t position);

// The offset of the first byte that is not valid UTF-8; the size of the text if there is none.
std::size_t invalid_utf8_at(std::string_view text);

}  // namespace isentropic::tokenizer
