// The bottleneck of normal variables in closed form, from canonical correlations.
#include "isentropic/information/gaussian_bottleneck.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "base/checks.hpp"
#include "information/bottleneck_run.hpp"
#include "information/distributions/matrix.hpp"
#include "information/distributions/validate.hpp"

namespace isentropic::information {
namespace {

// The lower Cholesky factor.
Matrix factor(const std::string& name, const Table& covariance) {
  if (covariance.rows != covariance.columns || covariance.rows == 0)
    throw Error(name, shape_text(covariance), "a square table");
  const Matrix symmetric = matrix_of(covariance);
  const Eigen::LLT<Matrix> llt(symmetric);
  if (llt.info() != Eigen::Success || !symmetric.isApprox(symmetric.transpose(), 1e-9))
    throw Error(name, "not symmetric and positive definite", "the covariance of a density");
  return llt.matrixL();
}

}  // namespace

GaussianBottleneck gaussian_bottleneck(std::span<const double> canonical_correlations, double beta) {
  require_positive("beta", beta);
  GaussianBottleneck out;
  for (double rho : canonical_correlations) {
    require(rho >= 0 && rho < 1, "canonical correlation", rho, "a number in [0, 1)");
    const double squared = rho * rho;
    if (squared <= beta) continue;
    const double rate = 0.5 * std::log(squared * (1 - beta) / (beta * (1 - squared)));
    out.information_x += rate;
    out.information_y += rate - 0.5 * std::log(squared / beta);
    ++out.components;
  }
  return out;
}

GaussianBottleneck gaussian_bottleneck(const Table& covariance_x, const Table& covariance_y,
                                       const Table& cross_covariance, double beta) {
  const Matrix lx = factor("covariance_x", covariance_x), ly = factor("covariance_y", covariance_y);
  if (cross_covariance.rows != covariance_x.rows || cross_covariance.columns != covariance_y.rows)
    throw Error("cross_covariance", shape_text(cross_covariance),
                std::to_string(covariance_x.rows) + " x " + std::to_string(covariance_y.rows));
  // Whitened, the cross-covariance has the canonical correlations as singular values.
  const Matrix half = lx.triangularView<Eigen::Lower>().solve(matrix_of(cross_covariance));
  const Matrix white = ly.triangularView<Eigen::Lower>().solve(half.transpose()).transpose();
  const Eigen::JacobiSVD<Matrix> svd(white, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const Eigen::VectorXd rho = svd.singularValues();
  require(rho(0) < 1, "canonical correlation", rho(0), "a number < 1");
  GaussianBottleneck out = gaussian_bottleneck(std::vector<double>(rho.data(), rho.data() + rho.size()), beta);
  out.projection = Table(out.components, covariance_x.rows);
  if (out.components == 0) return out;

  // Component i is alpha_i u_i' x of whitened x, with 1 + alpha_i^2 = e^{2 I_X of the component}.
  Matrix scaled = svd.matrixU().leftCols(static_cast<Eigen::Index>(out.components)).transpose();
  for (Eigen::Index i = 0; i < scaled.rows(); ++i) {
    const double squared = rho(i) * rho(i);
    scaled.row(i) *= std::sqrt(squared * (1 - beta) / (beta * (1 - squared)) - 1);
  }
  matrix_of(out.projection) = lx.transpose().triangularView<Eigen::Upper>().solve(scaled.transpose()).transpose();
  return out;
}

}  // namespace isentropic::information
