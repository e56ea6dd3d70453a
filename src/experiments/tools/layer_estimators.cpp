// Binning and noise estimators of the information in a layer, as the literature uses them.
#include "experiments/tools/layer_estimators.hpp"

#include <algorithm>
#include <cmath>

#include "experiments/tools/estimate.hpp"
#include "isentropic/information/distribution.hpp"
#include "isentropic/information/entropy.hpp"
#include "isentropic/information/noise_bounds.hpp"

namespace isentropic::experiments::tools {
namespace {

using information::Table;

template <class Map>
double bits_of_symbols(Table activations, Map&& map) {
  for (double& h : activations.values) h = map(h);
  return information::to_bits(information::entropy_from_symbols(activations, information::EntropyEstimator::plug_in));
}

double bits_in_range(Unit unit, const Table& activations) {
  constexpr double kBins = 30;
  double low = -1, high = 1;
  if (unit != Unit::tanh) {
    const auto [least, most] = std::minmax_element(activations.values.begin(), activations.values.end());
    low = *least, high = *most + 1e-12;  // a layer of dead units has no range
  }
  return bits_of_symbols(
      activations, [&](double h) { return std::clamp(std::floor((h - low) / (high - low) * kBins), 0., kBins - 1); });
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
      return bits_of_symbols(activations, [](double h) { return static_cast<double>(static_cast<float>(h)); });
    case LayerEstimator::bins_of_range:
      return bits_in_range(unit, activations);
    case LayerEstimator::bins_of_width:
      return bits_of_symbols(activations, [](double h) { return std::floor(h / .5); });
    case LayerEstimator::fixed_noise:
      return bits_through_noise(activations, .1);
    case LayerEstimator::relative_noise:
      break;
  }
  return bits_through_noise(activations, .01 * variance_of(activations));
}

}  // namespace isentropic::experiments::tools
