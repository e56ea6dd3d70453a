// Tables as Eigen matrices.
#pragma once

#include <Eigen/Dense>

#include "isentropic/information/table.hpp"

namespace isentropic::information {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// These are views, not copies.
inline Eigen::Map<const Matrix> matrix_of(const Table& table) {
  return {table.values.data(), static_cast<Eigen::Index>(table.rows), static_cast<Eigen::Index>(table.columns)};
}
inline Eigen::Map<Matrix> matrix_of(Table& table) {
  return {table.values.data(), static_cast<Eigen::Index>(table.rows), static_cast<Eigen::Index>(table.columns)};
}

}  // namespace isentropic::information
