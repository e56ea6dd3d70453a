#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>

#include "isentropic/error.hpp"
#include "samples/formats.hpp"

namespace isentropic::samples {
namespace {

constexpr char kBlanks = ' ';  // as separator: any run of blanks

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string_view unquoted(std::string_view cell) {
  return cell.size() >= 2 && cell.front() == '"' && cell.back() == '"' ? cell.substr(1, cell.size() - 2) : cell;
}

char separator_of(std::string_view line) {
  for (char candidate : {',', '\t', ';'})
    if (line.find(candidate) != std::string_view::npos) return candidate;
  return kBlanks;
}

// The cells of a line, trimmed and without their quotes; `out` is used again for every line.
void split(std::string_view line, char separator, std::vector<std::string_view>* out) {
  out->clear();
  if (separator == kBlanks) {
    for (std::size_t begin = line.find_first_not_of(" \t\r"); begin != std::string_view::npos;) {
      const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
      out->push_back(unquoted(line.substr(begin, end - begin)));
      begin = line.find_first_not_of(" \t\r", end);
    }
    return;
  }
  bool quoted = false;
  for (std::size_t begin = 0, at = 0; at <= line.size(); ++at) {
    if (at < line.size() && line[at] == '"') quoted = !quoted;
    if (at < line.size() && (quoted || line[at] != separator)) continue;
    out->push_back(unquoted(trimmed(line.substr(begin, at - begin))));
    begin = at + 1;
  }
}

std::optional<double> number_in(std::string_view cell) {
  if (!cell.empty() && cell.front() == '+') cell.remove_prefix(1);
  double value = 0;
  const auto [end, failure] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (cell.empty() || end != cell.data() + cell.size()) return std::nullopt;
  if (failure == std::errc::result_out_of_range) return std::strtod(std::string(cell).c_str(), nullptr);  // 0 or inf
  return failure == std::errc{} ? std::optional(value) : std::nullopt;
}

// Lines that hold something, with their numbers from 1.
class Lines {
 public:
  explicit Lines(const std::string& path) : in_(path, std::ios::binary) {}

  bool next() {
    while (std::getline(in_, line_)) {
      if (++number_ == 1 && line_.starts_with("\xEF\xBB\xBF")) line_.erase(0, 3);  // byte order mark
      const std::string_view content = trimmed(line_);
      if (!content.empty() && content.front() != '#' && content.front() != '%') return true;
    }
    return false;
  }
  std::string_view line() const { return line_; }
  std::size_t number() const { return number_; }

 private:
  std::ifstream in_;
  std::string line_;
  std::size_t number_ = 0;
};

std::string shown(std::string_view cell) {
  constexpr std::size_t kLongest = 40;
  if (cell.empty()) return "empty";
  std::string out;
  for (char c : cell.substr(0, kLongest)) out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  return fmt::format("'{}{}'", out, cell.size() > kLongest ? "..." : "");
}

}  // namespace

std::vector<Part> read_text(const std::string& path, const std::vector<Selection>& selections) {
  Lines lines(path);
  if (!lines.next()) throw Error(path, "empty", "at least one row of numbers");
  const char separator = separator_of(lines.line());
  std::vector<std::string_view> cells;
  split(lines.line(), separator, &cells);
  bool header = true;
  for (std::string_view cell : cells) header = header && !number_in(cell);
  const std::size_t count = cells.size();
  Plan plan = plan_of(selections, count,
                      header ? std::vector<std::string>(cells.begin(), cells.end()) : std::vector<std::string>{});
  if (header && !lines.next()) throw Error(path, "empty below its header", "at least one row of numbers");
  do {
    split(lines.line(), separator, &cells);
    if (cells.size() != count)
      throw Error(fmt::format("{} line {}", path, lines.number()), fmt::format("{} cells long", cells.size()),
                  fmt::format("{}, as the first line", count));
    for (std::size_t p = 0; p < plan.parts.size(); ++p) {
      for (std::size_t column : plan.columns[p]) {
        const std::optional<double> value = number_in(cells[column]);
        if (!value || !std::isfinite(*value))
          throw Error(fmt::format("{} line {} column {}", path, lines.number(), column), shown(cells[column]),
                      "a finite number");
        plan.parts[p].table.values.push_back(*value);
      }
      ++plan.parts[p].table.rows;
    }
  } while (lines.next());
  return std::move(plan.parts);
}

}  // namespace isentropic::samples
