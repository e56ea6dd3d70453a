// Damaged inputs for readers of untrusted files: valid examples with random but reproducible changes.
//
//   Mutator inputs({R"({"a": 1})", R"([2])"});
//   return run_for(seconds, inputs, [](const std::string& input) { parse(input); });
//
// Input number i depends only on the examples and i, so a failure can be reproduced from its number.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mix.hpp"
#include "base/random.hpp"

namespace isentropic::fuzz {

class Mutator {
 public:
  // Needs at least one example; results are never longer than `longest` bytes.
  explicit Mutator(std::vector<std::string> examples, std::size_t longest = 1 << 16)
      : examples_(std::move(examples)), longest_(longest) {}

  // The first inputs are the unmodified examples.
  std::string input(std::uint64_t number) const {
    if (number < examples_.size()) return examples_[number];
    Random random(mix(number));
    std::string text = one_of(examples_, random);
    // Mostly a single change: after many, a reader stops at the first and the rest goes untested.
    const std::size_t changes = 1 + below(below(8, random) + 1, random);
    for (std::size_t i = 0; i < changes; ++i) change(&text, random);
    if (text.size() > longest_) text.resize(longest_);
    return text;
  }

 private:
  static std::size_t below(std::size_t bound, Random& random) { return bound == 0 ? 0 : random.bits() % bound; }

  template <class Items>
  static const typename Items::value_type& one_of(const Items& items, Random& random) {
    return items[below(items.size(), random)];
  }

  static char random_byte(Random& random) { return static_cast<char>(random.bits() & 0xFF); }

  // A random range inside the text; short ones are more frequent.
  static std::pair<std::size_t, std::size_t> range(const std::string& text, Random& random) {
    const std::size_t begin = below(text.size(), random);
    const std::size_t most = below(2, random) == 0 ? std::min<std::size_t>(16, text.size()) : text.size();
    return {begin, std::min(below(most + 1, random), text.size() - begin)};
  }

  void change(std::string* text, Random& random) const {
    const std::size_t at = below(text->size(), random);
    switch (below(text->empty() ? 1 : 10, random)) {
      case 0:
        return insert_token(text, at, random);
      case 1:
        (*text)[at] = static_cast<char>((*text)[at] ^ (1 << below(8, random)));
        return;
      case 2:
        (*text)[at] = random_byte(random);
        return;
      case 3:
        text->resize(at);
        return;
      case 4:
        return splice(text, random);
      case 5:
        return repeat(text, random);
      case 6: {
        const auto [begin, length] = range(*text, random);
        text->erase(begin, length);
        return;
      }
      case 7:
        return edit_length(text, random);
      default:
        return edit_number(text, random);
    }
  }

  // Typical trouble for text formats: brackets, quotes, escapes, broken UTF-8, JSON keywords.
  static void insert_token(std::string* text, std::size_t at, Random& random) {
    using namespace std::string_view_literals;
    static constexpr std::array kTokens = {"["sv,
                                           "]"sv,
                                           "{"sv,
                                           "}"sv,
                                           "\""sv,
                                           ":"sv,
                                           ","sv,
                                           "\\"sv,
                                           "\n"sv,
                                           "\0"sv,
                                           "null"sv,
                                           "true"sv,
                                           "NaN"sv,
                                           "-Infinity"sv,
                                           "[[[["sv,
                                           "{\"a\":"sv,
                                           "\xFF"sv,
                                           "\xC0\x80"sv,
                                           "\xED\xA0\x80"sv,
                                           "\xF4\x90\x80\x80"sv,
                                           "\\uD800"sv,
                                           "\\u0000"sv,
                                           "\xEF\xBB\xBF"sv,
                                           "../"sv};
    const std::string_view token = one_of(kTokens, random);
    const std::size_t times = below(8, random) == 0 ? 1 + below(2000, random) : 1;
    std::string tokens;
    for (std::size_t i = 0; i < times; ++i) tokens += token;
    text->insert(at, tokens);
  }

  // Replaces a piece of the text with a piece of an example.
  void splice(std::string* text, Random& random) const {
    const std::string& other = one_of(examples_, random);
    const auto [begin, length] = range(*text, random);
    const auto [other_begin, other_length] =
        other.empty() ? std::pair<std::size_t, std::size_t>() : range(other, random);
    text->replace(begin, length, other, other_begin, other_length);
  }

  // Inserts copies of a piece elsewhere: duplicate keys, overlapping parts.
  void repeat(std::string* text, Random& random) const {
    const auto [begin, length] = range(*text, random);
    const std::string piece = text->substr(begin, length);
    for (std::size_t times = 1 + below(4, random); times > 0 && text->size() < longest_; --times)
      text->insert(below(text->size() + 1, random), piece);
  }

  static std::uint64_t interesting_number(std::uint64_t old, Random& random) {
    switch (below(4, random)) {
      case 0:
        return old + below(17, random) - 8;
      case 1:
        return (std::uint64_t{1} << below(64, random)) + below(3, random) - 1;
      case 2:
        return old * 2;
      default:
        return below(2, random) == 0 ? 0 : random.bits();
    }
  }

  // Four or eight bytes, little-endian, often at the start: where binary formats store lengths.
  static void edit_length(std::string* text, Random& random) {
    const std::size_t width = below(2, random) == 0 ? 4 : 8;
    if (text->size() < width) return;
    const std::size_t at = below(2, random) == 0 ? 0 : below(text->size() - width + 1, random);
    std::uint64_t old = 0;
    for (std::size_t i = 0; i < width; ++i)
      old |= std::uint64_t{static_cast<unsigned char>((*text)[at + i])} << (8 * i);
    const std::uint64_t number = interesting_number(old, random);
    for (std::size_t i = 0; i < width; ++i) (*text)[at + i] = static_cast<char>(number >> (8 * i));
  }

  // A number in decimal digits.
  static void edit_number(std::string* text, Random& random) {
    const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    const auto from = text->begin() + static_cast<std::ptrdiff_t>(below(text->size(), random));
    auto begin = std::find_if(from, text->end(), is_digit);
    if (begin == text->end()) begin = std::find_if(text->begin(), text->end(), is_digit);
    const auto end = std::find_if_not(begin, text->end(), is_digit);
    std::uint64_t old = 0;
    for (auto digit = begin; digit != end; ++digit) old = 10 * old + static_cast<std::uint64_t>(*digit - '0');
    std::string number = std::to_string(interesting_number(old, random));
    using namespace std::string_view_literals;
    static constexpr std::array kOthers = {"-1"sv,     "1e400"sv, "0.5"sv, "-0"sv, "99999999999999999999"sv,
                                           "1e-400"sv, ""sv};
    if (below(4, random) == 0) number = one_of(kOthers, random);
    text->replace(begin, end, number);
  }

  std::vector<std::string> examples_;
  std::size_t longest_;
};

}  // namespace isentropic::fuzz
