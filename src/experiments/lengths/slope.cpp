// Least-squares slopes of entropy, and the search for the kappa with slope 0.
#include "experiments/lengths/slope.hpp"

#include <algorithm>
#include <cmath>

namespace isentropic::experiments::lengths {

Estimate slope(const std::vector<std::int64_t>& lengths, const std::vector<Estimate>& entropy) {
  return tools::slope(tools::logarithms(std::vector<double>(lengths.begin(), lengths.end())), entropy);
}

namespace {

// The polynomial through up to four trials around [i, i + 1], at kappa. The slope curves too much for a chord.
double interpolate(const std::vector<Trial>& tried, std::size_t i, double kappa) {
  const std::size_t begin = i > 0 ? i - 1 : 0, end = std::min(i + 3, tried.size());
  double sum = 0;
  for (std::size_t a = begin; a < end; ++a) {
    double weight = 1;
    for (std::size_t b = begin; b < end; ++b)
      if (b != a) weight *= (kappa - tried[b].kappa) / (tried[a].kappa - tried[b].kappa);
    sum += weight * tried[a].slope.mean;
  }
  return sum;
}

// The zero between trials i and i + 1, by bisection.
Estimate zero_between(const std::vector<Trial>& tried, std::size_t i) {
  const bool positive = tried[i].slope.mean > 0;
  double low = tried[i].kappa, high = tried[i + 1].kappa;
  const double step = (high - low) / 20;
  for (int halving = 0; halving < 50; ++halving) {
    const double middle = (low + high) / 2;
    ((interpolate(tried, i, middle) > 0) == positive ? low : high) = middle;
  }
  const double steepness = (interpolate(tried, i, low + step) - interpolate(tried, i, low - step)) / (2 * step);
  return {low, std::max(tried[i].slope.error, tried[i + 1].slope.error) / std::abs(steepness)};
}

}  // namespace

const std::vector<double>& kappa_grid() {
  static const std::vector<double> grid = {0.25, 0.5, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16};
  return grid;
}

Trial Compensation::flattest() const {
  return *std::ranges::min_element(tried, {}, [](const Trial& trial) { return std::abs(trial.slope.mean); });
}

Compensation compensate(std::vector<Trial> tried) {
  Compensation out{std::move(tried), {}};
  for (std::size_t i = 0; i + 1 < out.tried.size() && !out.zero; ++i)
    if ((out.tried[i].slope.mean > 0) != (out.tried[i + 1].slope.mean > 0)) out.zero = zero_between(out.tried, i);
  return out;
}

}  // namespace isentropic::experiments::lengths
