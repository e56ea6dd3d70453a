#include "samples/read_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "isentropic/error.hpp"
#include "samples/cells.hpp"

namespace isentropic::samples {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;
class Parser {
 public:
  explicit Parser(const std::string& name) : name_(name) {}

  void take(std::string_view line) {
    ++line_;
    if (holds_nothing(line)) return;
    if (width_ == 0) separator_ = separator_of(line);
    split(line, separator_, &cells_);
    if (width_ == 0) {
      width_ = cells_.size();
      if (std::ranges::none_of(cells_, [](std::string_view cell) { return number_in(cell).has_value(); })) {
        out_.names.assign(cells_.begin(), cells_.end());
        return;
      }
    }
    if (cells_.size() != width_)
      throw Error(fmt::format("{}, line {}", name_, line_), fmt::format("{} cells long", cells_.size()),
                  fmt::format("{}, as the first line", width_));
    for (std::size_t column = 0; column < cells_.size(); ++column) {
      const std::optional<double> value = number_in(cells_[column]);
      if (!value || !std::isfinite(*value))
        throw Error(fmt::format("{}, line {}, column {}", name_, line_, column + 1), shown(cells_[column]),
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
  std::vector<std::string_view> cells_;  // of the line at hand
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
