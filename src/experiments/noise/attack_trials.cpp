// Compares the exact attack with first-order and random directions of the same size.
#include "experiments/noise/attack_trials.hpp"

#include <algorithm>

#include "experiments/tools/kernels.hpp"

namespace isentropic::experiments::noise {
namespace {

using theory::Budget;

using information::Table;

using Changes = std::vector<std::vector<double>>;

// f(s + change) - f(s) for each change, in one kernel call.
std::vector<double> gains_of(std::span<const double> s, std::span<const double> x, const Changes& changes) {
  Table scores(changes.size() + 1, s.size());
  for (std::size_t r = 0; r < scores.rows; ++r)
    for (std::size_t i = 0; i < s.size(); ++i) scores(r, i) = s[i] + (r == 0 ? 0 : changes[r - 1][i]);
  const Table outputs = outputs_of(scores, Table(x.size(), 1, {x.begin(), x.end()}));
  std::vector<double> out;
  for (std::size_t r = 1; r < outputs.rows; ++r) out.push_back(outputs(r, 0) - outputs(0, 0));
  return out;
}

std::vector<double> random_unit(std::size_t d, Random& random) {
  std::vector<double> out = random.normals(d);
  const double length = theory::size_in(Budget::euclidean, out);
  for (double& x : out) x /= length;
  return out;
}

// The first-order optimum for each budget, scaled to |change| = eps in this one.
Changes directions(std::span<const double> s, std::span<const double> x, Budget budget, double eps) {
  Changes out;
  for (const Budget direction : kBudgets) {
    out.push_back(theory::first_order_attack(s, x, direction, eps).change);
    const double factor = eps / theory::size_in(budget, out.back());
    for (double& c : out.back()) c *= factor;
  }
  return out;
}

}  // namespace

GainTable relative_gains(std::size_t n, std::size_t d, double eps, std::int64_t trials, Random& random) {
  GainTable out;
  for (std::int64_t t = 0; t < trials; ++t) {
    const std::vector<double> s = random.normals(n);
    const Table values(n, d, random.normals(n * d));
    const std::vector<double> x = theory::projections(values, random_unit(d, random));
    for (std::size_t b = 0; b < 3; ++b) {
      const std::vector<double> gains = gains_of(s, x, directions(s, x, kBudgets[b], eps));
      const double best = *std::max_element(gains.begin(), gains.end());
      for (std::size_t c = 0; c < 3; ++c) out[b][c].add(gains[c] / best);
    }
  }
  return out;
}

AttackShares attack_shares(std::size_t n, Budget budget, double eps, Random& random) {
  const std::vector<double> s = random.normals(n), x = random.normals(n);
  Changes changes = directions(s, x, budget, eps);
  changes.push_back(theory::exact_attack(s, x, budget, eps).change);
  const std::vector<double> gains = gains_of(s, x, changes);
  return {gains[3], {gains[0] / gains[3], gains[1] / gains[3], gains[2] / gains[3]}};
}

double best_sign_gain(std::span<const double> scores, std::span<const double> x, double eps) {
  const std::size_t n = scores.size();
  Changes changes(std::size_t{1} << n, std::vector<double>(n));
  for (std::size_t p = 0; p < changes.size(); ++p)
    for (std::size_t i = 0; i < n; ++i) changes[p][i] = (p >> i & 1u) != 0 ? eps : -eps;
  const std::vector<double> gains = gains_of(scores, x, changes);
  return *std::max_element(gains.begin(), gains.end());
}

}  // namespace isentropic::experiments::noise
