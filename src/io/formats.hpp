// The two file readers behind read().
#pragma once

#include "io/read.hpp"

namespace isentropic::io {

// Missing values that are not rejected become NaN; read() drops their rows.
Samples read_text(const std::string& path, const std::vector<Selection>& selections, const Options& options);
Samples read_npy(const std::string& path, const std::vector<Selection>& selections, const Options& options);

// The columns of each selection, with empty parts to fill.
struct Plan {
  std::vector<Part> parts;
  std::vector<std::vector<std::size_t>> columns;
};
// "All columns" starts at `first`.
Plan plan_of(const std::vector<Selection>& selections, std::size_t count, const std::vector<std::string>& names,
             std::size_t first = 0);

// Throws the Error for a missing value.
[[noreturn]] void refuse_missing(const std::string& place, const std::string& value, const Options& options);

}  // namespace isentropic::io
