// What the estimators demand of their input; Error names the argument.
#pragma once

#include <span>
#include <string>

#include "isentropic/information/table.hpp"

namespace isentropic {

// Non-negative, finite, not empty, sum 1 within 1e-9.
void require_distribution(const std::string& name, std::span<const double> p);

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

}  // namespace isentropic
