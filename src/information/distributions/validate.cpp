// Checks of tables and samples before any estimate starts.
#include "information/distributions/validate.hpp"

#include <cmath>

#include "base/checks.hpp"

namespace isentropic::information {

std::string shape_text(const Table& table) {
  return std::to_string(table.rows) + " x " + std::to_string(table.columns);
}

void require_shape(const std::string& name, const Table& table) {
  if (table.values.size() != table.rows * table.columns)
    throw Error(name, std::to_string(table.values.size()) + " values", shape_text(table));
}

void require_joint(const Table& joint) {
  require_shape("joint", joint);
  require_distribution("joint", joint.values);
}

void require_samples(const std::string& name, const Table& samples) {
  if (samples.rows == 0) throw Error(name, "without rows", "at least one observation");
  if (samples.columns == 0) throw Error(name, "without columns", "at least one variable");
  require_shape(name, samples);
  for (std::size_t i = 0; i < samples.values.size(); ++i) {
    if (std::isfinite(samples.values[i])) continue;
    throw Error(name + "(" + std::to_string(i / samples.columns) + ", " + std::to_string(i % samples.columns) + ")",
                samples.values[i], "a finite number");
  }
}

void require_rows(const std::string& name, const Table& samples, std::size_t rows) {
  if (samples.rows != rows)
    throw Error(name, std::to_string(samples.rows) + " rows long", std::to_string(rows) + " rows, as many as x");
}

void require_neighbours(int k, std::size_t points) {
  if (k < 1 || static_cast<std::size_t>(k) >= points)
    throw Error("k", std::to_string(k), "at least 1 and less than the " + std::to_string(points) + " samples");
}

}  // namespace isentropic::information
