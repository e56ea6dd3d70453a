// Reads CSV and whitespace-separated files line by line.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "io/cells.hpp"
#include "io/formats.hpp"
#include "io/text_columns.hpp"
#include "isentropic/error.hpp"

namespace isentropic::io {
namespace {

// Lines that are not blank or comments, with their numbers from 1.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), in_(path, std::ios::binary) {}

  bool next() {
    while (get()) {
      if (++number_ == 1 && line_.starts_with("\xEF\xBB\xBF")) line_.erase(0, 3);  // byte order mark
      if (!is_blank_or_comment(line_)) return true;
    }
    return false;
  }
  std::string_view line() const { return line_; }
  std::size_t number() const { return number_; }

 private:
  // Like getline, but rejects data without lines (a device, an archive) before it fills the memory.
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

// Whether the cells from `begin` on are 0, 1, 2, ..., with at least one of them.
bool counts_up(const std::vector<std::string_view>& cells, std::size_t begin) {
  for (std::size_t i = begin; i < cells.size(); ++i)
    if (cells[i] != std::to_string(i - begin)) return false;
  return begin < cells.size();
}

bool is_header(const std::vector<std::string_view>& cells) {
  const bool numbered_table = cells.front().empty() && counts_up(cells, 1);
  return numbered_table ||
         std::ranges::none_of(cells, [](std::string_view cell) { return number_in(cell).has_value(); });
}

std::string without_double_quotes(std::string_view cell) {
  std::string out(cell);
  for (std::size_t at = out.find("\"\""); at != out.npos; at = out.find("\"\"", at + 1)) out.erase(at, 1);
  return out;
}

class TextReader {
 public:
  TextReader(const std::string& path, const Options& options) : path_(path), options_(options), lines_(path) {}

  Samples read(const std::vector<Selection>& selections) {
    if (!next_row()) throw Error(path_, "empty", "at least one row of numbers");
    if (is_header(cells_)) {
      for (std::string_view cell : cells_) names_.push_back(without_double_quotes(cell));
      if (!next_row()) throw Error(path_, "empty below its header", "at least one row of numbers");
    } else if (cells_.size() > 1 && counts_up(cells_, 0)) {
      out_.notes.push_back(fmt::format("the first line of {} was read as data, not as names of columns", path_));
    }
    Plan plan = plan_of(selections, count_, names_, first_of_all_columns());
    note_use_of_index(plan, selections);
    for (const auto& columns : plan.columns) columns_.emplace_back(columns.size());
    do add_row(&plan);
    while (next_row());
    for (std::size_t p = 0; p < plan.parts.size(); ++p)
      for (std::size_t c = 0; c < plan.columns[p].size(); ++c)
        if (columns_[p][c].holds_text()) plan.parts[p].text.push_back(plan.parts[p].names[c]);
    out_.parts = std::move(plan.parts);
    return std::move(out_);
  }

 private:
  // Reads the cells of the next line; there must be as many as in the first.
  bool next_row() {
    if (!lines_.next()) return false;
    if (separator_ == '\0') separator_ = separator_of(lines_.line());
    if (!split(lines_.line(), separator_, &cells_))
      throw Error(line_here(), "cut off within quotes", "quotes that are closed on the same line");
    if (count_ == 0) count_ = cells_.size();
    if (count_ > kMostColumns) throw Error(line_here(), fmt::format("{} cells long", count_), "at most a million");
    if (cells_.size() != count_)
      throw Error(line_here(), fmt::format("{} cells long", cells_.size()),
                  fmt::format("{}, as the first line", count_));
    return true;
  }

  std::string line_here() const { return fmt::format("{}, line {}", path_, lines_.number()); }

  static constexpr std::size_t kMostColumns = 1'000'000;

  bool has_index() const { return count_ > 1 && !names_.empty() && names_[0].empty(); }

  // Skips the first column if it names the rows.
  std::size_t first_of_all_columns() const {
    const bool row_names = options_.content == Content::numbers && count_ > 1 && !names_.empty() &&
                           !is_missing(cells_[0]) && !number_in(cells_[0]);
    return has_index() || row_names ? 1 : 0;
  }

  void note_use_of_index(const Plan& plan, const std::vector<Selection>& selections) {
    for (std::size_t p = 0; p < selections.size(); ++p) {
      const bool all = selections[p].list == "*";
      if (all && first_of_all_columns() == 1)
        out_.notes.push_back(
            has_index() ? "the first column has no name and was left out, as the index of a table"
                        : fmt::format("column {} holds text and was left out, as names of the rows", names_[0]));
      if (!all && has_index() && std::ranges::find(plan.columns[p], 0u) != plan.columns[p].end())
        out_.notes.push_back(
            fmt::format("column 0 of {} has no name: it may be the index of a table", selections[p].argument));
    }
  }

  void add_row(Plan* plan) {
    for (std::size_t p = 0; p < plan->parts.size(); ++p) {
      for (std::size_t c = 0; c < plan->columns[p].size(); ++c) {
        const std::size_t column = plan->columns[p][c];
        plan->parts[p].table.values.push_back(columns_[p][c].value(cells_[column], options_, [&] {
          const std::string name =
              names_.empty() || names_[column].empty() ? "" : fmt::format(" ({})", shown(names_[column]));
          return fmt::format("{}, column {}{}", line_here(), column, name);
        }));
      }
      ++plan->parts[p].table.rows;
    }
  }

  const std::string& path_;
  const Options& options_;
  Lines lines_;
  char separator_ = '\0';
  std::size_t count_ = 0;
  std::vector<std::string_view> cells_;
  std::vector<std::string> names_;                // empty without a header
  std::vector<std::vector<TextColumn>> columns_;  // per part
  Samples out_;
};

}  // namespace

Samples read_text(const std::string& path, const std::vector<Selection>& selections, const Options& options) {
  return TextReader(path, options).read(selections);
}

}  // namespace isentropic::io
