// Measurements at the points of a curve.
#pragma once

#include <vector>

#include "experiments/sparsity/measure.hpp"

namespace isentropic::experiments::sparsity {

// One entry per point: the mean of S over key sets, its standard error, and n S^2, the effective number of keys.
struct Points {
  std::vector<double> mean = {}, error = {}, participation = {};

  // Adds a point from the values of its key sets. With a single set, the error is 0.
  void add(const std::vector<Concentration>& found);
};

}  // namespace isentropic::experiments::sparsity
