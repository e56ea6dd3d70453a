// Checks attention weights and makes them exact: every row sums to one in double.
#pragma once

#include <string>

#include "isentropic/information/table.hpp"

namespace isentropic::information {

// Error if a row is not a distribution within 1e-5, or if there are no rows.
Table exact_rows(const std::string& name, const Table& weights);

}  // namespace isentropic::information
