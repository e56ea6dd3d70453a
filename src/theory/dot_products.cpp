// Mean and variance of the score of two random vectors.
#include "isentropic/theory/dot_products.hpp"

#include <cmath>

#include "base/checks.hpp"

namespace isentropic::theory {
namespace {

void require_vectors(std::int64_t d, double sigma, double rho) {
  require_at_least("d", d, 1);
  require_non_negative("sigma", sigma);
  require(std::abs(rho) <= 1, "rho", rho, "a correlation in [-1, 1]");
}

}  // namespace

double mean_dot_product(std::int64_t d, double sigma, double rho) {
  require_vectors(d, sigma, rho);
  return static_cast<double>(d) * rho * sigma * sigma;
}

double variance_of_dot_product(std::int64_t d, double sigma, double rho) {
  require_vectors(d, sigma, rho);
  return static_cast<double>(d) * std::pow(sigma, 4) * (1 + rho * rho);
}

}  // namespace isentropic::theory
