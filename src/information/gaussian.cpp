// Entropy and information of normal variables from log determinants.
#include "information/gaussian.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "base/checks.hpp"
#include "information/distributions/matrix.hpp"
#include "information/distributions/validate.hpp"
#include "information/scaling.hpp"
#include "isentropic/information/entropy.hpp"
#include "isentropic/information/mutual_information.hpp"

namespace isentropic::information {
namespace {

void require_covariance(const Table& covariance) {
  require_samples("covariance", covariance);
  if (covariance.rows != covariance.columns) throw Error("covariance", shape_text(covariance), "a square matrix");
  for (std::size_t i = 0; i < covariance.rows; ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (std::abs(covariance(i, j) - covariance(j, i)) >
          1e-9 * std::sqrt(std::abs(covariance(i, i) * covariance(j, j))))
        throw Error("covariance", "not symmetric at (" + std::to_string(i) + ", " + std::to_string(j) + ")",
                    "a symmetric matrix");
  if (std::isnan(log_determinant(covariance)))
    throw Error("covariance", "not positive semi-definite", "a matrix without negative eigenvalues");
}

// A variable whose own covariance is singular has no density, so information about it is undefined.
double regular_log_determinant(const std::string& what, const Table& covariance) {
  const double out = log_determinant(covariance);
  if (std::isinf(out))
    throw Error("the covariance of " + what, "singular", "linearly independent columns, none of them constant");
  return out;
}

}  // namespace

Table covariance_of(const Table& samples) {
  require_at_least("the number of samples", samples.rows, 2);
  const auto values = matrix_of(samples);
  const Matrix centred = values.rowwise() - values.colwise().mean();
  const Matrix product = centred.transpose() * centred / static_cast<double>(samples.rows - 1);
  return Table(samples.columns, samples.columns, {product.data(), product.data() + product.size()});
}

double log_determinant(const Table& covariance) {
  const Eigen::VectorXd variance = matrix_of(covariance).diagonal();
  if ((variance.array() < 0).any()) return std::numeric_limits<double>::quiet_NaN();
  for (Eigen::Index i = 0; i < variance.size(); ++i)
    if (variance(i) == 0 && (matrix_of(covariance).row(i).array() != 0).any())
      return std::numeric_limits<double>::quiet_NaN();
  if ((variance.array() == 0).any()) return -std::numeric_limits<double>::infinity();
  const Eigen::VectorXd scale = variance.array().rsqrt();
  const Matrix correlation = scale.asDiagonal() * matrix_of(covariance) * scale.asDiagonal();
  const Eigen::LDLT<Eigen::MatrixXd> decomposition(correlation);
  const double negligible = 16 * static_cast<double>(covariance.rows) * std::numeric_limits<double>::epsilon();
  double sum = variance.array().log().sum();
  for (double pivot : decomposition.vectorD()) {
    if (pivot < -negligible) return std::numeric_limits<double>::quiet_NaN();
    if (pivot <= negligible) return -std::numeric_limits<double>::infinity();
    sum += std::log(pivot);
  }
  return sum;
}

Table block(const Table& covariance, std::size_t first, std::size_t count) {
  Table out(count, count);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < count; ++j) out(i, j) = covariance(first + i, first + j);
  return out;
}

double gaussian_information(const Table& covariance, std::size_t x, std::size_t y, std::size_t z) {
  // y and z are already adjacent; x and z are not.
  Table xz(x + z, x + z);
  const auto source = [&](std::size_t i) { return i < x ? i : i + y; };
  for (std::size_t i = 0; i < x + z; ++i)
    for (std::size_t j = 0; j < x + z; ++j) xz(i, j) = covariance(source(i), source(j));
  const double given = z > 0 ? regular_log_determinant("z", block(covariance, x + y, z)) : 0;
  const double with_x = regular_log_determinant(z > 0 ? "x and z" : "x", xz);
  const double with_y = regular_log_determinant(z > 0 ? "y and z" : "y", block(covariance, x, y + z));
  return (with_x + with_y - given - log_determinant(covariance)) / 2;
}

double gaussian_information(const Table& x, const Table& y, const Table& z) {
  const Table all = moderate(beside(beside(x, y), z)).samples;
  return gaussian_information(covariance_of(all), x.columns, y.columns, z.columns);
}

double gaussian_entropy(const Table& covariance) {
  require_covariance(covariance);
  const double d = static_cast<double>(covariance.rows);
  return (d * std::log(2 * std::numbers::pi * std::numbers::e) + log_determinant(covariance)) / 2;
}

double gaussian_entropy_from_samples(const Table& samples) {
  require_samples("samples", samples);
  const Moderate unit = moderate(samples);
  return gaussian_entropy(covariance_of(unit.samples)) + unit.log_scale;
}

double gaussian_mutual_information(const Table& covariance, std::size_t x_columns) {
  require_covariance(covariance);
  if (x_columns < 1 || x_columns >= covariance.columns)
    throw Error("x_columns", std::to_string(x_columns),
                "at least 1 and less than the " + std::to_string(covariance.columns) + " columns");
  return gaussian_information(covariance, x_columns, covariance.columns - x_columns, 0);
}

double gaussian_mutual_information_from_samples(const Table& x, const Table& y) {
  require_samples("x", x);
  require_samples("y", y);
  require_rows("y", y, x.rows);
  return gaussian_information(x, y, Table{});
}

}  // namespace isentropic::information
