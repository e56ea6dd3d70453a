// Lipschitz bounds of softmax, and exact norms of its Jacobian at given weights.
#include "isentropic/theory/sensitivity.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/checks.hpp"
#include "isentropic/error.hpp"

namespace isentropic::theory {
namespace {

using information::Table;

std::vector<double> subset_sums(std::span<const double> weights) {
  std::vector<double> out = {0};
  for (double weight : weights) {
    const std::size_t known = out.size();
    for (std::size_t i = 0; i < known; ++i) out.push_back(out[i] + weight);
  }
  return out;
}

}  // namespace

double range_of(std::span<const double> change) {
  if (change.empty()) return 0;
  const auto [low, high] = std::minmax_element(change.begin(), change.end());
  return *high - *low;
}

double diameter(const Table& values) {
  double greatest = 0;
  for (std::size_t i = 0; i < values.rows; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      double square = 0;
      for (std::size_t d = 0; d < values.columns; ++d) {
        const double difference = values(i, d) - values(j, d);
        square += difference * difference;
      }
      greatest = std::max(greatest, square);
    }
  return std::sqrt(greatest);
}

double weights_change_bound(double range) { return 2 * std::tanh(range / 4); }

double output_change_bound(double diameter, double range) { return diameter * std::tanh(range / 4); }

double softmax_infinity_norm(std::span<const double> weights) {
  require_distribution("weights", weights);
  std::vector<double> mass;
  std::copy_if(weights.begin(), weights.end(), std::back_inserter(mass), [](double a) { return a > 0; });
  if (mass.size() > kMostSubsetKeys)
    throw Error("weights", std::to_string(mass.size()) + " that are not 0",
                "at most " + std::to_string(kMostSubsetKeys) + ", because all subsets are tried");
  const auto middle = mass.begin() + static_cast<std::ptrdiff_t>(mass.size() / 2);
  const std::vector<double> first = subset_sums({mass.begin(), middle});
  std::vector<double> second = subset_sums({middle, mass.end()});
  std::sort(second.begin(), second.end());
  // For each subset of the first half, try the two subsets of the second half that bring the sum nearest to 1/2.
  double greatest = 0;
  for (double p : first) {
    const auto above = std::lower_bound(second.begin(), second.end(), 0.5 - p);
    for (const auto x : {above, above == second.begin() ? above : above - 1})
      if (x != second.end()) greatest = std::max(greatest, 4 * (p + *x) * (1 - p - *x));
  }
  return greatest;
}

double softmax_euclidean_norm(std::span<const double> weights) {
  require_distribution("weights", weights);
  const Eigen::Map<const Eigen::VectorXd> a(weights.data(), static_cast<Eigen::Index>(weights.size()));
  const Eigen::MatrixXd jacobian = Eigen::MatrixXd(a.asDiagonal()) - a * a.transpose();
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(jacobian, Eigen::EigenvaluesOnly).eigenvalues().maxCoeff();
}

double output_euclidean_norm(std::span<const double> weights, const Table& values) {
  require_distribution("weights", weights);
  require_length("values", values.rows, weights.size(), "one for each weight");
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Eigen::VectorXd> a(weights.data(), static_cast<Eigen::Index>(weights.size()));
  const Eigen::Map<const RowMajor> v(values.values.data(), static_cast<Eigen::Index>(values.rows),
                                     static_cast<Eigen::Index>(values.columns));
  const Eigen::RowVectorXd output = a.transpose() * v;
  const Eigen::MatrixXd jacobian = a.asDiagonal() * (v.rowwise() - output);
  return Eigen::JacobiSVD<Eigen::MatrixXd>(jacobian).singularValues()(0);
}

}  // namespace isentropic::theory
