#include "isentropic/theory/generalisation.hpp"

#include <cmath>
#include <string>

#include "isentropic/error.hpp"

namespace isentropic {

double sub_gaussian_deviation(double low, double high) {
  if (!(std::isfinite(low) && std::isfinite(high) && low <= high))
    throw Error("range of the loss", "[" + std::to_string(low) + ", " + std::to_string(high) + "]",
                "finite ends, low <= high");
  return (high - low) / 2;
}

double generalisation_bound(double information, double samples, double sigma) {
  if (!(information >= 0)) throw Error("information", std::to_string(information), "nats in [0, inf]");
  if (!(samples >= 1)) throw Error("samples", std::to_string(samples), "at least 1");
  if (!(sigma >= 0 && std::isfinite(sigma))) throw Error("sigma", std::to_string(sigma), "a finite number >= 0");
  return sigma == 0 ? 0 : sigma * std::sqrt(2 * information / samples);
}

}  // namespace isentropic
