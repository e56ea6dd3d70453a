// The bound of Xu & Raginsky from mutual information to the generalisation gap.
#include "isentropic/theory/generalisation.hpp"

#include <cmath>

#include "base/checks.hpp"

namespace isentropic::theory {

double sub_gaussian_deviation(double low, double high) {
  require(std::isfinite(low) && std::isfinite(high) && low <= high, "the range of the loss",
          std::string("[") + to_text(low) + ", " + to_text(high) + "]", "finite ends, low <= high");
  return (high - low) / 2;
}

double generalisation_bound(double information, double samples, double sigma) {
  require(information >= 0, "information", information, "nats >= 0, or inf");
  require_at_least("samples", samples, 1);
  require_non_negative("sigma", sigma);
  return sigma == 0 ? 0 : sigma * std::sqrt(2 * information / samples);
}

}  // namespace isentropic::theory
