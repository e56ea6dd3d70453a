#include "samples/cells.hpp"

#include <charconv>
#include <cstdlib>

namespace isentropic::samples {
namespace {

constexpr std::string_view kAround = " \t\r";

std::string_view unquoted(std::string_view cell) {
  return cell.size() >= 2 && cell.front() == '"' && cell.back() == '"' ? cell.substr(1, cell.size() - 2) : cell;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kAround);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kAround) - first + 1);
}

bool holds_nothing(std::string_view line) {
  const std::string_view content = trimmed(line);
  return content.empty() || content.front() == '#' || content.front() == '%';
}

char separator_of(std::string_view line) {
  for (char candidate : {',', '\t', ';'})
    if (trimmed(line).find(candidate) != line.npos) return candidate;
  return kBlanks;
}

void split(std::string_view line, char separator, std::vector<std::string_view>* out) {
  out->clear();
  bool quoted = false;
  const auto separates = [&](char c) { return separator == kBlanks ? c == ' ' || c == '\t' : c == separator; };
  for (std::size_t begin = 0, at = 0; at <= line.size(); ++at) {
    if (at < line.size() && line[at] == '"') quoted = !quoted;
    if (at < line.size() && (quoted || !separates(line[at]))) continue;
    const std::string_view cell = trimmed(line.substr(begin, at - begin));
    if (separator != kBlanks || !cell.empty()) out->push_back(unquoted(cell));
    begin = at + 1;
  }
}

std::optional<double> number_in(std::string_view cell) {
  if (cell.size() > 1 && cell.front() == '+' && cell[1] != '-') cell.remove_prefix(1);
  double value = 0;
  const auto [end, failure] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (cell.empty() || end != cell.data() + cell.size() || failure == std::errc::invalid_argument) return std::nullopt;
  if (failure == std::errc::result_out_of_range) value = std::strtod(std::string(cell).c_str(), nullptr);
  return value;
}

std::string shown(std::string_view cell) {
  constexpr std::size_t kMost = 40;
  if (cell.empty()) return "empty";
  std::string out(cell.substr(0, kMost));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return cell.size() > kMost ? out + "..." : out;
}

}  // namespace isentropic::samples
