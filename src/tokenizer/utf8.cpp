// Walks over UTF-8; the ranges of second bytes exclude overlong forms, surrogates and anything above U+10FFFF.
#include "tokenizer/utf8.hpp"

#include <algorithm>

namespace isentropic::tokenizer {
namespace {

unsigned byte_at(std::string_view text, std::size_t position) { return static_cast<unsigned char>(text[position]); }

bool is_continuation(unsigned byte) { return (byte & 0xC0) == 0x80; }

std::size_t length_of_lead(unsigned lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xE0) return 2;
  return lead < 0xF0 ? 3 : 4;
}

bool is_second_byte(unsigned lead, unsigned byte) {
  switch (lead) {
    case 0xE0:
      return byte >= 0xA0 && byte <= 0xBF;
    case 0xED:
      return byte >= 0x80 && byte <= 0x9F;
    case 0xF0:
      return byte >= 0x90 && byte <= 0xBF;
    case 0xF4:
      return byte >= 0x80 && byte <= 0x8F;
    default:
      return is_continuation(byte);
  }
}

}  // namespace

char32_t next_code_point(std::string_view text, std::size_t* position) {
  const unsigned lead = byte_at(text, *position);
  const std::size_t length = length_of_lead(lead);
  char32_t out = length == 1 ? lead : lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) out = (out << 6) | (byte_at(text, *position + i) & 0x3F);
  *position += length;
  return out;
}

char32_t code_point_before(std::string_view text, std::size_t end) {
  do --end;
  while (is_continuation(byte_at(text, end)));
  return next_code_point(text, &end);
}

std::size_t first_code_point_length(std::string_view text) {
  return text.empty() ? 0 : length_of_lead(byte_at(text, 0));
}

std::size_t count_code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return !is_continuation(static_cast<unsigned char>(c)); }));
}

void append_code_point(char32_t code_point, std::string* text) {
  const auto trail = [&](int shift) { text->push_back(static_cast<char>(0x80 | ((code_point >> shift) & 0x3F))); };
  if (code_point < 0x80) {
    text->push_back(static_cast<char>(code_point));
  } else if (code_point < 0x800) {
    text->push_back(static_cast<char>(0xC0 | (code_point >> 6)));
    trail(0);
  } else if (code_point < 0x10000) {
    text->push_back(static_cast<char>(0xE0 | (code_point >> 12)));
    trail(6), trail(0);
  } else {
    text->push_back(static_cast<char>(0xF0 | (code_point >> 18)));
    trail(12), trail(6), trail(0);
  }
}

std::string to_utf8(char32_t code_point) {
  std::string out;
  append_code_point(code_point, &out);
  return out;
}

Utf8Step utf8_step(std::string_view bytes, std::size_t position) {
  const unsigned lead = byte_at(bytes, position);
  if (lead < 0x80) return {Utf8Step::valid, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Utf8Step::invalid, 1};
  const std::size_t length = length_of_lead(lead);
  for (std::size_t i = 1; i < length; ++i) {
    if (position + i == bytes.size()) return {Utf8Step::incomplete, i};
    const unsigned byte = byte_at(bytes, position + i);
    if (!(i == 1 ? is_second_byte(lead, byte) : is_continuation(byte))) return {Utf8Step::invalid, i};
  }
  return {Utf8Step::valid, length};
}

std::size_t invalid_utf8_at(std::string_view text) {
  std::size_t position = 0;
  while (position < text.size()) {
    const Utf8Step step = utf8_step(text, position);
    if (step.kind != Utf8Step::valid) return position;
    position += step.length;
  }
  return position;
}

}  // namespace isentropic::tokenizer
