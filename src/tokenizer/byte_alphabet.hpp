// The 256 printable characters that byte-level tokenizers use for bytes.
//
// '!' to '~', U+00A1 to U+00AC and U+00AE to U+00FF stand for the bytes with the same number; the other 68 bytes, in
// order, are U+0100, U+0101, ...: a space (the 33rd of them) is U+0120, a newline U+010A.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace isentropic::tokenizer {

char32_t character_of_byte(unsigned char byte);
std::optional<unsigned char> byte_of_character(char32_t character);

// Appends the characters of all bytes of `text`.
void append_byte_characters(std::string_view text, std::string* out);

}  // namespace isentropic::tokenizer
