// The two kinds of file behind read().
#pragma once

#include "samples/read.hpp"

namespace isentropic::samples {

std::vector<Part> read_text(const std::string& path, const std::vector<Selection>& selections);
std::vector<Part> read_npy(const std::string& path, const std::vector<Selection>& selections);

// Empty parts for the selections of a file with `count` columns, and the columns of each.
struct Plan {
  std::vector<Part> parts;
  std::vector<std::vector<std::size_t>> columns;
};
Plan plan_of(const std::vector<Selection>& selections, std::size_t count, const std::vector<std::string>& names);

}  // namespace isentropic::samples
