// A table of numbers: rows x columns, row-major. A joint distribution p(x, y) has x along the rows; a sample has one
// observation per row.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

namespace isentropic::information {

struct Table {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values;

  Table() = default;
  Table(std::size_t rows_, std::size_t columns_, double value = 0)
      : rows(rows_), columns(columns_), values(rows_ * columns_, value) {}
  Table(std::size_t rows_, std::size_t columns_, std::vector<double> values_)
      : rows(rows_), columns(columns_), values(std::move(values_)) {}
  // Rows of equal length.
  Table(std::initializer_list<std::initializer_list<double>> list) : rows(list.size()) {
    for (const auto& row : list) {
      columns = row.size();
      values.insert(values.end(), row.begin(), row.end());
    }
  }

  double& operator()(std::size_t row, std::size_t column) { return values[row * columns + column]; }
  double operator()(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
  std::span<double> row(std::size_t index) { return {values.data() + index * columns, columns}; }
  std::span<const double> row(std::size_t index) const { return {values.data() + index * columns, columns}; }
};

}  // namespace isentropic::information
