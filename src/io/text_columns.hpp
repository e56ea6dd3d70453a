// The cells of one column of a text file, all of the same kind as the first.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "io/read.hpp"

namespace isentropic::io {

class TextColumn {
 public:
  // The value of a cell: its number, 1 or 0 for True or False, or its text's number; NaN if missing. `place` returns
  // the cell's location for an Error.
  template <class Place>
  double value(std::string_view cell, const Options& options, const Place& place) {
    double out = 0;
    if (const char* expected = read(cell, options, &out)) refuse(cell, expected, place(), options);
    return out;
  }
  bool holds_text() const { return kind_ == Kind::text; }

 private:
  enum class Kind { unknown, number, truth, text };

  // Returns what was expected if the cell is not of the column's kind, else null.
  const char* read(std::string_view cell, const Options& options, double* out);
  [[noreturn]] static void refuse(std::string_view cell, const char* expected, const std::string& place,
                                  const Options& options);

  Kind kind_ = Kind::unknown;
  std::unordered_map<std::string, double> number_of_;  // one per distinct text
};

}  // namespace isentropic::io
