// What common estimators make of I(X;Z) for a layer Z that is a function of X. In bits.
//
// The true value is the entropy of the distinct activations; every other estimator measures a modified layer, with bins
// or noise that are fixed or proportional to the layer's own spread.
#pragma once

#include <cstdint>
#include <string>

#include "experiments/tools/random_network.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::experiments::tools {

enum class LayerEstimator : std::uint8_t {
  exact,           // distinct rows of float32
  bins_of_range,   // 30 bins of [-1, 1] for tanh, of the layer's range otherwise
  bins_of_width,   // bins of width .5
  fixed_noise,     // Gaussian noise of variance .1, pairwise upper bound, every fourth input: at most 10 bits of 12
  relative_noise,  // the same with variance .01 in units of the layer's variance
};

std::string name(LayerEstimator estimator);

// activations: one input per row, inputs equally likely.
double layer_information(LayerEstimator estimator, Unit unit, const information::Table& activations);

}  // namespace isentropic::experiments::tools
