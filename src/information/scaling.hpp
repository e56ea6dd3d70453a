// Brings columns to a common scale.
#pragma once

#include <string>

#include "isentropic/information/mutual_information.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

// Every column is multiplied by a power of two so that its largest magnitude lies in [1, 2): squares and differences
// then neither overflow nor vanish, and no digits are lost. A column of zeros is unchanged.
struct Moderate {
  Table samples;
  double log_scale = 0;  // sum over the columns of log(original / moderate)
};
Moderate moderate(const Table& samples);

// Columns with mean 0 and variance 1, or unchanged. Error for a constant column.
Table scaled(const std::string& name, const Table& samples, Scaling scaling);

}  // namespace isentropic::information
