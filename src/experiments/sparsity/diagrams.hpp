// The diagrams of picture and page: formulas as lines, measurements as points on them.
#pragma once

#include <string>
#include <vector>

#include "experiments/sparsity/experiment.hpp"

namespace isentropic::experiments::sparsity {

struct Diagram {
  struct Curve {
    std::string label = {};
    int colour = 0;                            // 0 ... 7; report::kInk: the reference curve
    std::vector<double> x = {}, formula = {};  // the line
    std::vector<double> at = {}, measured = {};
  };
  struct Bound {
    std::string label = {};
    double s = 0;
  };
  std::string title = {}, x_label = {};
  bool doubles = false;      // the x axis is logarithmic, between powers of two
  double low = 0, high = 1;  // range of x
  std::vector<Curve> curves = {};
  std::vector<Bound> bounds = {};
};

// In pairs: relu² and the identity; features and Taylor; decay over n and over lambda.
std::vector<Diagram> diagrams(const Results& results);

}  // namespace isentropic::experiments::sparsity
