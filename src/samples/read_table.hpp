// Tables of numbers from text files: CSV (commas, tabs or semicolons) or columns separated by blanks.
//
//   # a comment            blank lines and lines that start with # or % are skipped
//   height, weight         optional names of the columns: a first line without any number
//   1.80, 75
//   "1.65", 60             quotes are allowed; a leading +, exponents and Windows line ends too
//
// Every line has as many cells as the first. What separates them is decided by the first line: a comma if it has one,
// else a tab, else a semicolon, else blanks. Error names the file, the line and the column, from 1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isentropic/information/table.hpp"

namespace isentropic::samples {

struct NamedTable {
  std::vector<std::string> names;  // of the columns; empty when the text has none
  Table values;
};

// `name` stands for the text in errors. At least one line of numbers, all finite.
NamedTable parse_table(const std::string& name, std::string_view text);

// `argument` is the one that named the file; "-" is standard input. Files above 1 GiB and files that are not text are
// refused.
NamedTable read_table(const std::string& argument, const std::string& path);

}  // namespace isentropic::samples
