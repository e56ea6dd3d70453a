// Draws the weights of the network and runs it on all inputs.
#include "experiments/tools/random_network.hpp"

#include <cmath>

#include "experiments/tools/random_laws.hpp"

namespace isentropic::experiments::tools {

using information::Table;

std::string name(Unit unit) {
  switch (unit) {
    case Unit::tanh:
      return "tanh";
    case Unit::relu:
      return "ReLU";
    case Unit::linear:
      break;
  }
  return "linear";
}

double apply(Unit unit, double x) {
  switch (unit) {
    case Unit::tanh:
      return std::tanh(x);
    case Unit::relu:
      return std::max(x, 0.);
    case Unit::linear:
      break;
  }
  return x;
}

double cut_normal(Random& random) {
  while (true) {
    const double x = random.normal();
    if (std::abs(x) <= 2) return x;
  }
}

std::vector<Table> random_network(Unit unit, Random& random) {
  constexpr std::size_t kBits = 12, kSizes[kLayers] = {10, 7, 5, 4, 3};
  Table inputs(std::size_t{1} << kBits, kBits);
  for (std::size_t x = 0; x < inputs.rows; ++x)
    for (std::size_t b = 0; b < kBits; ++b) inputs(x, b) = (x >> b & 1) ? 1 : -1;
  std::vector<Table> out;
  for (std::size_t size : kSizes) {
    const Table& below = out.empty() ? inputs : out.back();
    Table weights(below.columns, size);
    for (double& w : weights.values) w = cut_normal(random) / std::sqrt(static_cast<double>(below.columns));
    Table layer = product(below, weights);
    for (double& h : layer.values) h = apply(unit, h);
    out.push_back(std::move(layer));
  }
  return out;
}

}  // namespace isentropic::experiments::tools
