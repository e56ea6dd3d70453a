// Checks of tables, samples and their sizes, which throw Error; see base/checks.hpp for plain numbers.
#pragma once

#include <string>

#include "isentropic/information/table.hpp"

namespace isentropic::information {

// "3 x 2"
std::string shape_text(const Table& table);

// The number of values must be rows x columns.
void require_shape(const std::string& name, const Table& table);
// A table of that shape whose entries are a distribution.
void require_joint(const Table& joint);

// At least one row and one column, a matching number of values, all finite.
void require_samples(const std::string& name, const Table& samples);

// The same number of rows as x.
void require_rows(const std::string& name, const Table& samples, std::size_t rows);

// 1 <= k < the number of points.
void require_neighbours(int k, std::size_t points);

}  // namespace isentropic::information
