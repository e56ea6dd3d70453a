// Columns of a data file, as a user names them.
//
//   "0"  "0,3"  "0-3"  "age"  "age,height"  "0,age"      numbers count from 0, ranges include both ends
//   "*"                                                  all of them, from `first` on
//
// A name wins over a number: a header may hold the column "2".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace isentropic::io {

// `argument` ("--x") and the file's `names` (empty: no header) appear in the Error: a column that is not there, asked
// for twice, whose name several have, or no column at all.
std::vector<std::size_t> columns_in(const std::string& argument, const std::string& list, std::size_t count,
                                    const std::vector<std::string>& names, std::size_t first = 0);

}  // namespace isentropic::io
