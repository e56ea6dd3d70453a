// Binning and noise estimators of the information in a layer, as in the literature.
#include "experiments/tools/layer_estimators.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "experiments/tools/estimate.hpp"
#include "isentropic/information/distribution.hpp"
#include "isentropic/information/layer_information.hpp"
#include "isentropic/information/noise_bounds.hpp"

namespace isentropic::experiments::tools {
namespace {

using information::Table;

double bits_by(const std::string& estimator, const Table& activations) {
  const std::vector<std::int64_t> no_labels(activations.rows, 0);
  return information::layer_information(information::LayerEstimator::named(estimator), activations, no_labels).input;
}

double bits_through_noise(const Table& activations, double variance) {
  constexpr std::size_t kStride = 4;
  Table some(activations.rows / kStride, activations.columns);
  for (std::size_t x = 0; x < some.rows; ++x)
    std::copy_n(activations.row(x * kStride).begin(), some.columns, some.row(x).begin());
  return information::to_bits(information::noisy_layer_input_information(some, variance, {}, serial_executor()).upper);
}

double variance_of(const Table& activations) {
  experiments::tools::Mean all;
  for (double h : activations.values) all.add(h);
  return std::max(all.variance(), 1e-24);
}

}  // namespace

std::string name(LayerEstimator estimator) {
  switch (estimator) {
    case LayerEstimator::exact:
      return "exact";
    case LayerEstimator::bins_of_range:
      return "30 bins";
    case LayerEstimator::bins_of_width:
      return "bins of width .5";
    case LayerEstimator::fixed_noise:
      return "noise of variance .1";
    case LayerEstimator::relative_noise:
      break;
  }
  return "noise of a hundredth of the variance";
}

double layer_information(LayerEstimator estimator, Unit unit, const Table& activations) {
  switch (estimator) {
    case LayerEstimator::exact:
      return bits_by("exact", activations);
    case LayerEstimator::bins_of_range:
      return bits_by(unit == Unit::tanh ? "width:0.06666666666666667" : "count:30", activations);
    case LayerEstimator::bins_of_width:
      return bits_by("width:0.5", activations);
    case LayerEstimator::fixed_noise:
      return bits_through_noise(activations, .1);
    case LayerEstimator::relative_noise:
      break;
  }
  return bits_through_noise(activations, .01 * variance_of(activations));
}

}  // namespace isentropic::experiments::tools
