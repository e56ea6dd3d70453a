// Samples from a data file: one observation per row.
//
//   *.npy        a NumPy array of numbers, one or two dimensions, C or Fortran order
//   others       text: cells separated by commas, tabs, semicolons or whitespace (the first of these that occurs in
//                the first line); lines that start with # or % and empty lines are skipped; the first line is a header
//                if none of its cells is a number, or if it is that of a numbered pandas table: ,0,1,2
//
// Columns contain finite numbers, or True and False (1 and 0), or text, whose distinct values are numbered 0, 1, ... in
// order of appearance. A column has a single kind. Only the requested columns are read.
//
// A first column with an empty header is a pandas index: "all columns" does not include it.
//
// Throws Error, which names the file and the place, if the file is missing, empty, ragged or not a NumPy array, and if
// a cell is missing or not of its column's kind.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "isentropic/information/table.hpp"

namespace isentropic::io {

// Columns that belong together: `argument` is the user's option ("--x"), `list` is as in columns.hpp.
struct Selection {
  std::string argument, list;
};

enum class Content {
  numbers,   // only numbers; a first column of text names the rows, and "all columns" does not include it
  anything,  // also True and False, and text
};
enum class Missing {
  refused,
  dropped,  // with their rows
};

struct Options {
  Content content = Content::numbers;
  Missing missing = Missing::refused;
  std::string instead_of_missing = {};  // appended to the Error about a missing cell: "--drop-missing"
};

struct Part {
  information::Table table;
  std::vector<std::string> names;  // of its columns, or their numbers
  std::vector<std::string> text;   // the names of those that contain text
};

struct Samples {
  std::vector<Part> parts;         // one per selection
  std::size_t rows_dropped = 0;    // with a missing cell in any part
  std::vector<std::string> notes;  // warnings that the file may have been meant otherwise
};

Samples read(const std::string& path, const std::vector<Selection>& selections, const Options& options = {});

}  // namespace isentropic::io
