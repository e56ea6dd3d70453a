// Splits lines into cells and recognises numbers, missing values and quotes.
#include "io/cells.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace isentropic::io {
namespace {

constexpr std::string_view kAround = " \t\r";

bool equal_in_any_case(std::string_view text, std::string_view lower) {
  const auto lowered = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(text, lower, {}, lowered);
}

// The position of the quote that closes the one at `open`; the end of the line if there is none.
std::size_t closing_quote(std::string_view line, std::size_t open) {
  std::size_t at = open + 1;
  while (at < line.size() && (line[at] != '"' || (at + 1 < line.size() && line[at + 1] == '"')))
    at += line[at] == '"' ? 2 : 1;
  return std::min(at, line.size());
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kAround);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kAround) - first + 1);
}

bool is_blank_or_comment(std::string_view line) {
  const std::string_view content = trimmed(line);
  return content.empty() || content.front() == '#' || content.front() == '%';
}

char separator_of(std::string_view line) {
  for (char candidate : {',', '\t', ';'})
    if (trimmed(line).find(candidate) != line.npos) return candidate;
  return kBlanks;
}

bool split(std::string_view line, char separator, std::vector<std::string_view>* out) {
  out->clear();
  const auto separates = [&](char c) { return separator == kBlanks ? c == ' ' || c == '\t' : c == separator; };
  for (std::size_t begin = 0; begin <= line.size();) {
    std::size_t first = begin;
    while (first < line.size() && !separates(line[first]) && kAround.find(line[first]) != kAround.npos) ++first;
    const bool quoted = first < line.size() && line[first] == '"';
    const std::size_t close = quoted ? closing_quote(line, first) : 0;
    if (quoted && close == line.size()) return false;
    std::size_t end = quoted ? close + 1 : first;
    while (end < line.size() && !separates(line[end])) ++end;
    const std::string_view cell = trimmed(line.substr(begin, end - begin));
    const bool whole = quoted && cell.size() == close + 1 - first;  // nothing after the quotes
    if (separator != kBlanks || !cell.empty()) out->push_back(whole ? cell.substr(1, cell.size() - 2) : cell);
    begin = end + 1;
  }
  return true;
}

std::optional<double> number_in(std::string_view cell) {
  if (cell.size() > 1 && cell.front() == '+' && cell[1] != '-') cell.remove_prefix(1);
  double value = 0;
  const auto [end, failure] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (cell.empty() || end != cell.data() + cell.size() || failure == std::errc::invalid_argument) return std::nullopt;
  if (failure == std::errc::result_out_of_range) value = std::strtod(std::string(cell).c_str(), nullptr);
  return value;
}

std::optional<bool> truth_in(std::string_view cell) {
  if (equal_in_any_case(cell, "true")) return true;
  if (equal_in_any_case(cell, "false")) return false;
  return std::nullopt;
}

bool is_missing(std::string_view cell) {
  constexpr std::string_view kWords[] = {"", "nan", "na", "n/a", "<na>", "null"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return equal_in_any_case(cell, word); });
}

std::string shown(std::string_view cell) {
  constexpr std::size_t kMost = 40;
  if (cell.empty()) return "empty";
  std::size_t length = std::min(kMost, cell.size());
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  while (length > 0 && length < cell.size() && continues(cell[length])) --length;  // whole characters
  std::string out(cell.substr(0, length));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return length < cell.size() ? out + "..." : out;
}

}  // namespace isentropic::io
