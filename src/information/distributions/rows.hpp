// Selects rows of a table by index.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "isentropic/information/table.hpp"

namespace isentropic::information {

inline Table rows_of(const Table& table, const std::vector<std::size_t>& rows) {
  Table out(rows.size(), table.columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto source = table.row(rows[i]);
    std::copy(source.begin(), source.end(), out.row(i).begin());
  }
  return out;
}

}  // namespace isentropic::information
