// Measures the kernel's decaying weights for every lambda and n.
#include "experiments/sparsity/decay_curves.hpp"

#include <cmath>

#include "experiments/sparsity/measure.hpp"
#include "isentropic/theory/sparsity.hpp"

namespace isentropic::experiments::sparsity {

double DecayCurve::formula(double n) const {
  return theory::sparsity_of_decay(lambda, static_cast<std::int64_t>(std::llround(n)));
}

double DecayCurve::most_keys() const {
  const double rate = theory::decay_sparsity_rate(lambda);
  return rate * rate;
}

std::vector<DecayCurve> decay_curves() {
  std::vector<DecayCurve> out;
  for (int k = 1; k <= kSlowestDecay; ++k) {
    DecayCurve curve{1 - std::ldexp(1.0, -k)};
    for (const std::int64_t n : kDecayLengths) {
      const Concentration found = measure_decay(curve.lambda, n);
      curve.measured.push_back(found.sparsity);
      curve.participation.push_back(found.participation);
    }
    out.push_back(curve);
  }
  return out;
}

}  // namespace isentropic::experiments::sparsity
