// Samples from a data file: one observation per row.
//
//   *.npy        a NumPy array of numbers, one or two dimensions, C or Fortran order
//   others       text: cells separated by commas, tabs, semicolons or blanks (the first of these that the first line
//                holds); lines that start with # or % and empty lines are skipped; the first line is a header when none
//                of its cells is a number
//
// Only the columns asked for must be numbers. Error names the file and the place: a file that is missing, empty,
// ragged or no NumPy array; a cell that is not a finite number.
#pragma once

#include <string>
#include <vector>

#include "isentropic/information/table.hpp"

namespace isentropic::samples {

// Columns that belong together: `argument` is what the user calls them ("--x"), `list` as in columns.hpp.
struct Selection {
  std::string argument, list;
};

struct Part {
  Table table;
  std::vector<std::string> names;  // of its columns, or their numbers
};

// One part for each selection.
std::vector<Part> read(const std::string& path, const std::vector<Selection>& selections);

}  // namespace isentropic::samples
