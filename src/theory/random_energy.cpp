// The two phases of the random energy model, and the saddle point for random directions.
#include "isentropic/theory/random_energy.hpp"

#include <boost/math/constants/constants.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>

#include "base/checks.hpp"

namespace isentropic::theory {
namespace {

double frozen_entropy(double m) { return boost::math::digamma(1.0) - boost::math::digamma(1 - m); }

// c = (sqrt(1 + 4 lambda^2) - 1)/(2 lambda), written without cancellation.
double dominant_cosine(double lambda) { return 2 * lambda / (std::sqrt(1 + 4 * lambda * lambda) + 1); }

}  // namespace

double freezing_spread(double log_n) {
  require_positive("log_n", log_n);
  return std::sqrt(2 * log_n);
}

Phase phase(double log_n, double spread) { return spread <= freezing_spread(log_n) ? Phase::spread : Phase::frozen; }

double random_energy_entropy(double log_n, double spread) {
  require_non_negative("spread", spread);
  if (phase(log_n, spread) == Phase::spread) return log_n - spread * spread / 2;
  return frozen_entropy(freezing_spread(log_n) / spread);
}

double frozen_coefficient(double entropy) {
  require_positive("entropy", entropy);
  // m/(1 - m) <= psi(1) - psi(1 - m) <= (pi^2/6) m/(1 - m), term by term, which brackets m.
  const double low = entropy / (entropy + 1.645), high = entropy / (entropy + 1);
  std::uintmax_t evaluations = 100;
  const auto root = boost::math::tools::toms748_solve([&](double m) { return frozen_entropy(m) - entropy; }, low, high,
                                                      boost::math::tools::eps_tolerance<double>(48), evaluations);
  return 2 / (root.first + root.second);
}

double expected_maximum(double log_n) {
  require_above("log_n", log_n, std::log(2.0));
  const double r = freezing_spread(log_n), pi = boost::math::constants::pi<double>();
  return r - (std::log(log_n) + std::log(4 * pi)) / (2 * r) + boost::math::constants::euler<double>() / r;
}

GumbelLimit maximum_limit(double n) {
  require_above("n", n, 1);
  const boost::math::normal normal;
  const double location = boost::math::quantile(boost::math::complement(normal, 1 / n));
  return {location, 1 / (n * boost::math::pdf(normal, location))};
}

double cosine_divergence(double lambda) {
  require_non_negative("lambda", lambda);
  const double c = dominant_cosine(lambda);
  return -std::log1p(-c * c) / 2;
}

double cosine_divergence_exponent(double lambda) {
  require_positive("lambda", lambda);
  // d log c / d log lambda = 1/sqrt(1 + 4 lambda^2).
  const double c = dominant_cosine(lambda);
  return c * c / (1 - c * c) / (std::sqrt(1 + 4 * lambda * lambda) * cosine_divergence(lambda));
}

double cosine_saddle_entropy(double log_n, double d, double lambda) { return log_n - d * cosine_divergence(lambda); }

double cosine_saddle_scale(double log_n, double d, double entropy) {
  require_positive("d", d);
  require_below("entropy", entropy, log_n);
  // kl = k means c^2 = 1 - e^{-2k}, and c = (sqrt(1 + 4 lambda^2) - 1)/(2 lambda) means lambda = c/(1 - c^2).
  const double c = std::sqrt(-std::expm1(-2 * (log_n - entropy) / d));
  return c / (1 - c * c);
}

}  // namespace isentropic::theory
