// How entropy grows with length, as one number, and the kappa that stops the growth.
//
// The slope dH/dlog n by least squares: 1 if attention spreads over all keys, 0 for constant entropy. By hand: H = log
// n at any lengths gives 1; H = 3 everywhere gives 0.
//
// kappa compensates if lambda = kappa log n/d gives slope 0. The slope is measured on a grid of kappa with the same
// contexts for every kappa (so it is smooth in kappa), and the first sign change is interpolated by a cubic. Its error
// is the slope's error divided by the steepness there.
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
  std::vector<Trial> tried;      // in increasing order of kappa
  std::optional<Estimate> zero;  // the kappa with slope 0; none if the slope does not change sign

  // Whether the zero is more than an artefact of the draws: its relative error is below a quarter.
  bool is_clear() const { return zero && zero->error < zero->mean / 4; }
  Trial flattest() const;
};

// The kappas to try, up to 16.
const std::vector<double>& kappa_grid();

Compensation compensate(std::vector<Trial> tried);

}  // namespace isentropic::experiments::lengths
