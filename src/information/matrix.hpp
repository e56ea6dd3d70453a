// Tables as Eigen's matrices.
#pragma once

#include <Eigen/Dense>

#include "isentropic/information/table.hpp"

namespace isentropic {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline Matrix matrix_of(const Table& table) {
  return Eigen::Map<const Matrix>(table.values.data(), static_cast<Eigen::Index>(table.rows),
                                  static_cast<Eigen::Index>(table.columns));
}

}  // namespace isentropic
