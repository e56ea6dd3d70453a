// Attention under noise, simulated with the library's kernel.
//
// Scores s_i become s_i + lean v_i + eps_i and attention runs on them, giving x = o~ - o. Where E e^{2 eps} is finite
// the bias is the mean of x - N with N = sum_i a_i (Z_i / E Z - 1) (v_i - o): N has mean zero and nearly all of the
// fluctuation, so a bias of 1e-4 is visible after thousands of draws instead of millions.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "experiments/tools/estimate.hpp"
#include "isentropic/information/table.hpp"
#include "isentropic/theory/noise.hpp"

namespace isentropic::experiments::noise {

using namespace experiments::tools;

// One row of attention with scalar values.
struct Row {
  std::vector<double> scores, values;

  std::size_t size() const { return scores.size(); }
  information::Table value_table() const { return {values.size(), 1, values}; }
};

// Scores 0, 1, 0, 1, ... with values equal to them: bounded, and with a bias that does not vanish by symmetry.
Row alternating_row(std::size_t n);
// Equal scores; values alternate between 1 and -1, constant over blocks of `block` keys.
Row flat_row(std::size_t n, std::size_t block = 1);

struct Disturbance {
  theory::NoiseLaw law;
  std::size_t group = 1;  // number of consecutive keys that share a draw
  double lean = 0;        // noise along the values
};

double draw(const theory::NoiseLaw& law, Random& random);

struct Deviation {
  Estimate bias;    // of o~ - o
  Estimate square;  // of (o~ - o)^2
  Estimate median;  // of |o~ - o|; exists for every law

  Estimate rms() const { return {std::sqrt(square.mean), square.error / (2 * std::sqrt(square.mean))}; }
};

// Applies `draws` independent noise vectors to one row.
Deviation deviation(const Row& row, const Disturbance& disturbance, std::int64_t draws, Random& random);

// ---- Dependence on n ----

// The exponent p of y ~ n^p by least squares, with its error.
Estimate power_estimate(const std::vector<std::size_t>& lengths, const std::vector<Estimate>& y);

// The exponent of the median |o~ - o| of flat rows: the rate at which noise averages out.
struct Decay {
  std::vector<Estimate> medians;  // one per length
  Estimate power;
};
Decay decay(const std::vector<std::size_t>& lengths, const theory::NoiseLaw& law, std::int64_t draws, Random& random);

}  // namespace isentropic::experiments::noise
