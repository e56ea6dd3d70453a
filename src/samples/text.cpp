#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <optional>
#include <string_view>

#include "isentropic/error.hpp"
#include "samples/cells.hpp"
#include "samples/formats.hpp"

namespace isentropic::samples {
namespace {

// Lines that hold something, with their numbers from 1.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), in_(path, std::ios::binary) {}

  bool next() {
    while (get()) {
      if (++number_ == 1 && line_.starts_with("\xEF\xBB\xBF")) line_.erase(0, 3);  // byte order mark
      if (!holds_nothing(line_)) return true;
    }
    return false;
  }
  std::string_view line() const { return line_; }
  std::size_t number() const { return number_; }

 private:
  // As getline, but what has no lines (a device, an archive) is refused before it fills the memory.
  bool get() {
    constexpr std::size_t kLongest = std::size_t{1} << 26;
    line_.clear();
    std::streambuf& source = *in_.rdbuf();
    for (int c = source.sbumpc(); c != EOF; c = source.sbumpc()) {
      if (c == '\n') return true;
      if (c == '\0') throw Error(path_, "not text (it holds a zero byte)", "rows of numbers");
      if (line_.size() == kLongest) throw Error(path_, "a line of more than 64 MiB", "rows of numbers");
      line_ += static_cast<char>(c);
    }
    return !line_.empty();
  }

  const std::string& path_;
  std::ifstream in_;
  std::string line_;
  std::size_t number_ = 0;
};

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
  const std::vector<std::string> names =
      header ? std::vector<std::string>(cells.begin(), cells.end()) : std::vector<std::string>{};
  Plan plan = plan_of(selections, count, names);
  if (header && !lines.next()) throw Error(path, "empty below its header", "at least one row of numbers");
  do {
    split(lines.line(), separator, &cells);
    if (cells.size() != count)
      throw Error(fmt::format("{}, line {}", path, lines.number()), fmt::format("{} cells long", cells.size()),
                  fmt::format("{}, as the first line", count));
    for (std::size_t p = 0; p < plan.parts.size(); ++p) {
      for (std::size_t column : plan.columns[p]) {
        const std::optional<double> value = number_in(cells[column]);
        if (!value || !std::isfinite(*value))
          throw Error(fmt::format("{}, line {}, column {}{}", path, lines.number(), column,
                                  header ? fmt::format(" ({})", shown(names[column])) : ""),
                      shown(cells[column]), "a finite number");
        plan.parts[p].table.values.push_back(*value);
      }
      ++plan.parts[p].table.rows;
    }
  } while (lines.next());
  return std::move(plan.parts);
}

}  // namespace isentropic::samples
