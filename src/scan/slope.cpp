// Least-squares fit of a line.
#include "scan/slope.hpp"

#include <cmath>

namespace isentropic::scan {

double entropy_slope(const std::vector<LengthResult>& lengths, const std::vector<double>& entropies) {
  if (lengths.size() < 2 || entropies.size() != lengths.size()) return kNotMeasured;
  double x_mean = 0, y_mean = 0, xy = 0, xx = 0;
  const auto count = static_cast<double>(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    x_mean += std::log(lengths[i].keys) / count;
    y_mean += entropies[i] / count;
  }
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double x = std::log(lengths[i].keys) - x_mean;
    xy += x * (entropies[i] - y_mean);
    xx += x * x;
  }
  return xy / xx;
}

}  // namespace isentropic::scan
