#include "samples/read_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "isentropic/error.hpp"

namespace isentropic::samples {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr char kBlanks = ' ';  // any run of spaces and tabs

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// A cell as an error may show it: short, and without what a terminal would obey.
std::string shown(std::string_view cell) {
  constexpr std::size_t kMost = 40;
  if (cell.empty()) return "empty";
  std::string out(cell.substr(0, kMost));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return cell.size() > kMost ? out + "..." : out;
}

char separator_of(std::string_view line) {
  if (line.find(',') != line.npos) return ',';
  if (line.find(';') != line.npos) return ';';
  return kBlanks;
}

// The cells of a line. A quoted cell loses its quotes and may hold the separator.
std::vector<std::string> cells_of(std::string_view line, char separator) {
  std::vector<std::string> out;
  std::string cell;
  bool quoted = false;
  const auto finish = [&] {
    out.emplace_back(trimmed(cell));
    cell.clear();
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      quoted = !quoted;
    } else if (quoted || (separator == kBlanks ? !is_blank(line[i]) : line[i] != separator)) {
      cell += line[i];
    } else if (separator != kBlanks || !cell.empty()) {
      finish();
    }
  }
  if (separator != kBlanks || !cell.empty()) finish();
  return out;
}

std::optional<double> number(std::string_view cell) {
  if (cell.size() > 1 && cell.front() == '+' && cell[1] != '-') cell.remove_prefix(1);
  double value = 0;
  const auto [end, failure] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (end != cell.data() + cell.size() || failure == std::errc::invalid_argument) return std::nullopt;
  if (failure == std::errc::result_out_of_range) {  // tiny numbers are 0, huge ones infinite
    value = std::strtod(std::string(cell).c_str(), nullptr);
  }
  return value;
}

class Parser {
 public:
  explicit Parser(const std::string& name) : name_(name) {}

  void take(std::string_view line) {
    ++line_;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    line = trimmed(line);
    if (line.empty() || line.front() == '#') return;
    if (width_ == 0) separator_ = separator_of(line);
    const std::vector<std::string> cells = cells_of(line, separator_);
    if (width_ == 0) {
      width_ = cells.size();
      if (std::ranges::none_of(cells, [](const std::string& cell) { return number(cell).has_value(); })) {
        out_.names = cells;
        return;
      }
    }
    if (cells.size() != width_)
      throw Error(fmt::format("{}, line {}", name_, line_), fmt::format("{} cells long", cells.size()),
                  fmt::format("{}, as the first line", width_));
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const std::optional<double> value = number(cells[column]);
      if (!value || !std::isfinite(*value))
        throw Error(fmt::format("{}, line {}, column {}", name_, line_, column + 1), shown(cells[column]),
                    value ? "a finite number" : "a number");
      out_.values.values.push_back(*value);
    }
    ++out_.values.rows;
  }

  NamedTable finish() {
    if (out_.values.rows == 0)
      throw Error(name_, out_.names.empty() ? "empty" : shown(out_.names[0]), "lines of numbers");
    out_.values.columns = width_;
    return std::move(out_);
  }

 private:
  const std::string& name_;
  std::size_t line_ = 0, width_ = 0;
  char separator_ = kBlanks;
  NamedTable out_;
};

[[noreturn]] void refuse(const std::string& argument, const std::string& path, const std::string& why) {
  throw Error(argument, path.empty() ? "empty" : path, "a text file that can be read (" + why + ")");
}

}  // namespace

NamedTable parse_table(const std::string& name, std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  Parser parser(name);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    parser.take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parser.finish();
}

NamedTable read_table(const std::string& argument, const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) refuse(argument, path, std::strerror(EISDIR));
  const bool standard_input = path == "-";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      standard_input ? stdin : std::fopen(path.c_str(), "rb"),
      standard_input ? [](std::FILE*) { return 0; } : [](std::FILE* f) { return std::fclose(f); });
  if (file == nullptr) refuse(argument, path, std::strerror(errno));
  std::string text;
  std::string chunk(std::size_t{1} << 16, '\0');
  while (const std::size_t count = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    const std::string_view bytes(chunk.data(), count);
    if (bytes.find('\0') != bytes.npos) refuse(argument, path, "it holds a zero byte");
    if (text.size() + count > kMostBytes) refuse(argument, path, "it is larger than 1 GiB");
    text += bytes;
  }
  if (std::ferror(file.get()) != 0) refuse(argument, path, std::strerror(errno));
  return parse_table(standard_input ? "standard input" : path, text);
}

}  // namespace isentropic::samples
