// Attention weights checked and made exact: every row sums to one in double.
#pragma once

#include <string>

#include "isentropic/information/table.hpp"

namespace isentropic::information {

// Error where a row is not a distribution within 1e-5, or there is none.
Table exact_rows(const std::string& name, const Table& weights);

}  // namespace isentropic::information
