// The two kinds of file behind read().
#pragma once

#include "io/read.hpp"

namespace isentropic::io {

// Missing values that are not refused are not a number; read() drops their rows.
Samples read_text(const std::string& path, const std::vector<Selection>& selections, const Options& options);
Samples read_npy(const std::string& path, const std::vector<Selection>& selections, const Options& options);

// Empty parts for the selections of a file, and the columns of each.
struct Plan {
  std::vector<Part> parts;
  std::vector<std::vector<std::size_t>> columns;
};
// "All columns" starts with `first`.
Plan plan_of(const std::vector<Selection>& selections, std::size_t count, const std::vector<std::string>& names,
             std::size_t first = 0);

// Error about a value that is not there.
[[noreturn]] void refuse_missing(const std::string& place, const std::string& value, const Options& options);

}  // namespace isentropic::io
