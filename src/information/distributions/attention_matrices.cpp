// Entropies and the spectrum of a matrix of attention weights.
#include "isentropic/information/attention_matrices.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "information/distributions/attention_rows.hpp"
#include "information/distributions/matrix.hpp"
#include "information/distributions/singular_values.hpp"
#include "information/distributions/validate.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/distribution.hpp"

namespace isentropic::information {
namespace {

std::vector<double> singular_values_of(const Matrix& matrix) {
  const Eigen::VectorXd values = Eigen::BDCSVD<Eigen::MatrixXd>(matrix).singularValues();
  return {values.data(), values.data() + values.size()};
}

// The largest singular value is at least sqrt(queries / keys), so their sum is never 0.
double entropy_of_shares(std::vector<double> values) {
  double sum = 0;
  for (double x : values) sum += x;
  for (double& x : values) x /= sum;
  return entropy(values);
}

}  // namespace

AttentionEntropies attention_entropies(const Table& weights) {
  const Table rows = exact_rows("weights", weights);
  AttentionEntropies out;
  std::vector<double> mean(rows.columns, 0.0);
  const double n = static_cast<double>(rows.rows);
  for (std::size_t q = 0; q < rows.rows; ++q) {
    out.per_query.push_back(entropy(rows.row(q)));
    out.mean += out.per_query.back() / n;
    for (std::size_t j = 0; j < rows.columns; ++j) mean[j] += rows(q, j) / n;
  }
  out.marginal = entropy(mean);
  return out;
}

double attention_perplexity(const Table& weights) { return std::exp(attention_entropies(weights).mean); }

AttentionSpectrum attention_spectrum(const Table& weights) {
  constexpr double kNear = 1e-8;
  if (weights.rows != weights.columns) throw Error("weights", shape_text(weights), "as many queries as keys");
  const Matrix matrix = matrix_of(exact_rows("weights", weights));
  AttentionSpectrum out;
  out.singular_values = singular_values_of(matrix);
  const Eigen::VectorXcd values = Eigen::EigenSolver<Matrix>(matrix, false).eigenvalues();
  out.eigenvalues.assign(values.data(), values.data() + values.size());
  std::ranges::stable_sort(out.eigenvalues, std::ranges::greater{}, [](std::complex<double> x) { return std::abs(x); });
  for (const std::complex<double> x : out.eigenvalues) {
    if (std::abs(x - 1.0) < kNear) ++out.unit_eigenvalues;
    if (std::abs(std::abs(x) - 1) < kNear) ++out.on_unit_circle;
  }
  return out;
}

double AttentionSpectrum::spectral_entropy() const { return entropy_of_shares(singular_values); }

std::vector<double> singular_values(const Table& matrix) {
  require_samples("matrix", matrix);
  return singular_values_of(matrix_of(matrix));
}

double effective_rank(const Table& weights) {
  return std::exp(entropy_of_shares(singular_values_of(matrix_of(exact_rows("weights", weights)))));
}

}  // namespace isentropic::information
