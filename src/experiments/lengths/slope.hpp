// How entropy follows length, in one number, and the kappa that makes it stop.
//
// The slope dH/dlog n by least squares: 1 where attention spreads over all there is, 0 for constant entropy.
// By hand: H = log n at any lengths gives 1; H = 3 everywhere gives 0.
//
// kappa compensates when lambda = kappa log n/d gives slope 0. The slope is measured on a grid of kappa with the same
// contexts for every kappa (so it is smooth in kappa), and the first change of sign is interpolated by a cubic.
// Its error is the slope's error divided by the steepness there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/lengths/measure.hpp"

namespace isentropic::experiments::lengths {

// Slope of the estimates against log n.
Estimate slope(const std::vector<std::int64_t>& lengths, const std::vector<Estimate>& entropy);

struct Trial {
  double kappa;
  Estimate slope;
};

struct Compensation {
  std::vector<Trial> tried;      // by increasing kappa
  std::optional<Estimate> zero;  // the kappa whose slope is 0; none when the slope keeps its sign

  // Whether the zero is more than an accident of the draws: known to a quarter of itself.
  bool is_clear() const { return zero && zero->error < zero->mean / 4; }
  Trial flattest() const;
};

// The kappas that are tried, up to 16.
const std::vector<double>& kappa_grid();

Compensation compensate(std::vector<Trial> tried);

}  // namespace isentropic::experiments::lengths
