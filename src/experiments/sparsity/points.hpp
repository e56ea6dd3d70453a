// What is measured at the points of a curve.
#pragma once

#include <vector>

#include "experiments/sparsity/measure.hpp"

namespace isentropic::experiments::sparsity {

// One entry for each point: the mean of S over key sets, its standard error, and n S^2, the keys that share the mass.
struct Points {
  std::vector<double> mean = {}, error = {}, participation = {};

  // The next point, from what each key set gave. One set has no error.
  void add(const std::vector<Concentration>& found);
};

}  // namespace isentropic::experiments::sparsity
