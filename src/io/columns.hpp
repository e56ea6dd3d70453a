// Columns of a data file, as specified by a user.
//
//   "0"  "0,3"  "0-3"  "age"  "age,height"  "0,age"      numbers count from 0, ranges include both ends
//   "*"                                                  all of them, from `first` on
//
// A name takes precedence over a number: a header may contain the column "2".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace isentropic::io {

// `argument` ("--x") and the file's `names` (empty: no header) appear in the Error, which is thrown for a column that
// does not exist, is listed twice or has an ambiguous name, and for an empty list.
std::vector<std::size_t> columns_in(const std::string& argument, const std::string& list, std::size_t count,
                                    const std::vector<std::string>& names, std::size_t first = 0);

}  // namespace isentropic::io
