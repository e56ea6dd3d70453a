// Laplace's method for interior maxima and for a density that is flat up to an edge.
#include "isentropic/theory/laplace.hpp"

#include <cmath>
#include <numbers>

#include "base/checks.hpp"

namespace isentropic::theory {

double laplace_log_integral(double n, double maximum, double curvature) {
  require_positive("n", n);
  require_below("curvature", curvature, 0);
  return n * maximum + std::log(2 * std::numbers::pi / (n * -curvature)) / 2;
}

double laplace_log_mean_exp(double lambda, double s_star, double log_density, double curvature) {
  require_below("curvature", curvature, 0);
  return lambda * s_star + log_density + std::log(2 * std::numbers::pi / -curvature) / 2;
}

double uniform_log_mean_exp(double lambda, double s_max, double width) {
  require_positive("lambda", lambda);
  require_positive("width", width);
  return lambda * s_max + std::log(-std::expm1(-lambda * width) / (lambda * width));
}

double uniform_log_mean_exp_edge(double lambda, double s_max, double width) {
  require_positive("lambda", lambda);
  require_positive("width", width);
  return lambda * s_max - std::log(lambda * width);
}

double uniform_scores_entropy(double log_n, double lambda, double width) {
  require_positive("lambda", lambda);
  require_positive("width", width);
  return log_n + 1 - std::log(lambda * width);
}

}  // namespace isentropic::theory
