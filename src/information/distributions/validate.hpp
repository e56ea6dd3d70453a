// Checks of tables, samples and their sizes, which throw Error; base/checks.hpp has those of plain numbers.
#pragma once

#include <string>

#include "isentropic/information/table.hpp"

namespace isentropic::information {

// "3 x 2"
std::string shape_text(const Table& table);

// As many values as rows x columns.
void require_shape(const std::string& name, const Table& table);
// A table of that shape whose entries are a distribution.
void require_joint(const Table& joint);

// At least one row and one column, as many values as they say, all finite.
void require_samples(const std::string& name, const Table& samples);

// As many rows as x has.
void require_rows(const std::string& name, const Table& samples, std::size_t rows);

// 1 <= k < the number of points.
void require_neighbours(int k, std::size_t points);

}  // namespace isentropic::information
