// A part of the text on its way through the tokenizer, and what is still known about its position.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "isentropic/error.hpp"

namespace isentropic::tokenizer {

inline constexpr std::size_t kMaximumTextSize = std::size_t{1} << 26;  // bytes

// A text may grow along the way (a Replace, bytes as characters), but not without bound.
inline void check_text_size(std::size_t size, std::size_t limit = kMaximumTextSize) {
  if (size <= limit) return;
  throw Error("the text, or what the tokenizer makes of it,", "longer than " + std::to_string(limit) + " bytes",
              "less");
}

// from_start: the number of leading bytes that stem from the first character of the whole text, before normalisation:
// Metaspace with the scheme "first" needs to know whether a piece starts there. Zero for later pieces.
struct Piece {
  std::string_view text;
  std::size_t from_start = 0;

  Piece slice(std::size_t start, std::size_t end) const {
    return {text.substr(start, end - start), start < from_start ? std::min(end, from_start) - start : 0};
  }
};

// The same, with its own text that normalisers change.
struct Text {
  std::string text;
  std::size_t from_start = 0;
  std::size_t limit = kMaximumTextSize;  // of its size

  static Text copy_of(Piece piece) {
    const std::size_t limit = (std::size_t{1} << 20) + 64 * piece.text.size();
    return {std::string(piece.text), piece.from_start, std::min(limit, kMaximumTextSize)};
  }

  void change(std::string new_text, std::size_t new_from_start) {
    check_text_size(new_text.size(), limit);
    text = std::move(new_text);
    from_start = new_from_start;
  }

  operator Piece() const { return {text, from_start}; }
};

}  // namespace isentropic::tokenizer
