#include "isentropic/theory/dot_products.hpp"

#include <cmath>
#include <string>

#include "isentropic/error.hpp"
#include "theory/require.hpp"

namespace isentropic {
namespace {

void require(std::int64_t d, double sigma, double rho) {
  if (d < 1) throw Error("d", std::to_string(d), "a number of coordinates >= 1");
  require_at_least_zero("sigma", sigma);
  if (!(std::abs(rho) <= 1)) throw Error("rho", std::to_string(rho), "a correlation in [-1, 1]");
}

}  // namespace

double mean_dot_product(std::int64_t d, double sigma, double rho) {
  require(d, sigma, rho);
  return static_cast<double>(d) * rho * sigma * sigma;
}

double variance_of_dot_product(std::int64_t d, double sigma, double rho) {
  require(d, sigma, rho);
  return static_cast<double>(d) * std::pow(sigma, 4) * (1 + rho * rho);
}

}  // namespace isentropic
