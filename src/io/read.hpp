// Samples from a data file: one observation per row.
//
//   *.npy        a NumPy array of numbers, one or two dimensions, C or Fortran order
//   others       text: cells separated by commas, tabs, semicolons or blanks (the first of these that the first line
//                holds); lines that start with # or % and empty lines are skipped; the first line is a header when none
//                of its cells is a number, or when it is that of a numbered pandas table: ,0,1,2
//
// Columns hold finite numbers, or True and False (1 and 0), or text, whose every value is a symbol: 0, 1, ... in order
// of appearance. A column is of one kind throughout. Only the columns asked for are looked at.
//
// A first column whose header is empty is the index that pandas writes: "all columns" does not include it.
//
// Error names the file and the place: a file that is missing, empty, ragged or no NumPy array; a cell that is missing
// or not of its column's kind.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "isentropic/information/table.hpp"

namespace isentropic::io {

// Columns that belong together: `argument` is what the user calls them ("--x"), `list` as in columns.hpp.
struct Selection {
  std::string argument, list;
};

enum class Content {
  numbers,   // nothing else; a first column of text names the rows, and "all columns" does not include it
  anything,  // True and False and text as well
};
enum class Missing {
  refused,
  dropped,  // with their rows
};

struct Options {
  Content content = Content::numbers;
  Missing missing = Missing::refused;
  std::string instead_of_missing = {};  // what the Error about a missing cell adds: "--drop-missing"
};

struct Part {
  information::Table table;
  std::vector<std::string> names;  // of its columns, or their numbers
  std::vector<std::string> text;   // the names of those that hold text
};

struct Samples {
  std::vector<Part> parts;         // one for each selection
  std::size_t rows_dropped = 0;    // with a missing cell in one of the parts
  std::vector<std::string> notes;  // where the file may have been meant otherwise
};

Samples read(const std::string& path, const std::vector<Selection>& selections, const Options& options = {});

}  // namespace isentropic::io
