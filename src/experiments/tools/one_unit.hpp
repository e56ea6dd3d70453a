// A single unit h = f(w x) under x ~ N(0,1), and what estimators make of I(X;h) as w grows. h is a function of x, so
// with bins the information is the entropy of the bin; with noise it is h(h + noise) - h(noise). In bits.
#pragma once

#include <vector>

#include "experiments/tools/random_network.hpp"

namespace isentropic::experiments::tools {

struct Bins {
  double first_edge = 0, width = 1;
};

class OneUnit {
 public:
  OneUnit();  // represents x by 200001 quantiles of the normal law

  double binned(Unit unit, double weight, Bins bins) const;
  // Adds Gaussian noise with this deviation to h; by quadrature over a mixture of 501 of the quantiles. tanh only: it
  // needs h in [-1, 1].
  double noisy(Unit unit, double weight, double deviation) const;
  double largest() const { return quantiles_.back(); }

 private:
  std::vector<double> quantiles_;
};

}  // namespace isentropic::experiments::tools
