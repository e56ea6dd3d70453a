// Attacks on random rows; the kernel measures their gains.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/random.hpp"
#include "experiments/tools/estimate.hpp"
#include "isentropic/theory/attack.hpp"

namespace isentropic::experiments::noise {

using namespace experiments::tools;

inline constexpr std::array<theory::Budget, 3> kBudgets = {theory::Budget::infinity, theory::Budget::euclidean,
                                                           theory::Budget::absolute};
inline constexpr std::array<const char*, 3> kBudgetNames = {"inf", "l2", "l1"};
// The first-order optimum for each budget.
inline constexpr std::array<const char*, 3> kDirectionNames = {"sign", "gradient", "single"};

// Gain relative to the best of the three directions, each scaled to the whole budget: [budget][direction].
using GainTable = std::array<std::array<Mean, 3>, 3>;

// Rows of n scores N(0, 1), values N(0, 1) of d coordinates, a random direction u.
GainTable relative_gains(std::size_t n, std::size_t d, double eps, std::int64_t trials, Random& random);

// The fraction of the exact optimum that each direction, scaled to the whole budget, reaches on one random row; values
// of one coordinate.
struct AttackShares {
  double best_gain = 0;
  std::array<double, 3> of_best = {};  // in the order of kDirectionNames
};
AttackShares attack_shares(std::size_t n, theory::Budget budget, double eps, Random& random);

// The best gain over all sign patterns of size eps; n at most 20.
double best_sign_gain(std::span<const double> scores, std::span<const double> x, double eps);

}  // namespace isentropic::experiments::noise
