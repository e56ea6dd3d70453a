// How InfoNCE moves points on the circle: gradients of one anchor's loss, by temperature.
//
// Gradient descent steps, all tangential to the circle: the anchor moves by (k_+ - sum_j P_j k_j) / t, its positive by
// (1 - P_+) q / t, each negative by -P_j q / t. At a low temperature the hardest negative receives most of the push.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/plot.hpp"

namespace isentropic::lab::contrast {

struct Moved {
  double x, y, right, up;  // position and step; the longest step of a panel has length 1/2
};

struct PushPull {
  double temperature = 0;
  Moved anchor = {}, positive = {};
  std::vector<Moved> negatives = {};
};

// Up to three temperatures to draw: the lowest, the middle one and the highest.
std::vector<double> temperatures_to_draw(std::vector<double> temperatures);

// The same points, drawn from the seed, for every temperature.
std::vector<PushPull> push_and_pull(std::uint64_t seed, const std::vector<double>& temperatures);

// One panel per temperature, as SVG.
std::string push_pull_picture(const std::vector<PushPull>& found);
report::Plot push_pull_plot(const PushPull& found);

}  // namespace isentropic::lab::contrast
