// Aligns columns by displayed characters rather than bytes.
#include "report/text_table.hpp"

#include <algorithm>

namespace isentropic::report {
namespace {

constexpr std::size_t kGap = 3;

std::string padding(std::size_t width) { return std::string(width, ' '); }

}  // namespace

std::size_t display_width(const std::string& text) {
  // Every byte but the continuation bytes 10xxxxxx starts a character.
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(std::max(cells.size(), rows_.front().size()));
  rows_.push_back(std::move(cells));
}

void TextTable::add_rule() { rows_.push_back({}); }

std::string TextTable::str() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::size_t total = kGap * (widths.size() - 1);
  for (const std::size_t width : widths) total += width;
  std::string rule;
  for (std::size_t i = 0; i < total; ++i) rule += "─";

  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blank = padding(widths[i] - display_width(row[i]));
      if (i > 0) line += padding(kGap);
      line += i == 0 ? row[i] + blank : blank + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += (row.empty() ? rule : line) + "\n";
    if (&row == &rows_.front()) out += rule + "\n";
  }
  return out;
}

}  // namespace isentropic::report
