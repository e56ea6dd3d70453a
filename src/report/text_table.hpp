// A table of plain text with aligned columns: the first left-aligned, the others right-aligned.
//
//   law        64   1024
//   ─────────────────────
//   1/√d     3.69   6.45
//
// Widths count characters, not bytes, so UTF-8 labels line up.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace isentropic::report {

// Number of characters (code points) in a UTF-8 text.
std::size_t display_width(const std::string& text);

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) : rows_{std::move(header)} {}

  // Shorter rows are padded with empty cells.
  void add_row(std::vector<std::string> cells);
  // A line of dashes before the next row.
  void add_rule();

  // Lines end in '\n' and have no trailing blanks.
  std::string str() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

}  // namespace isentropic::report
