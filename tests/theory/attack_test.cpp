// Exact attacks against exhaustive and random search.
#include "isentropic/theory/attack.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "isentropic/error.hpp"
#include "isentropic/theory/sensitivity.hpp"

namespace isentropic::theory {
namespace {

using namespace information;

using Vector = std::vector<double>;
constexpr Budget kBudgets[] = {Budget::infinity, Budget::euclidean, Budget::absolute};

struct Row {
  Vector s, x;
};

Row random_row(std::size_t n, Random* random) { return {random->normals(n), random->normals(n)}; }

// The best of many random starts, each improved by shrinking random steps that are projected onto the budget.
double searched_gain(const Row& row, Budget budget, double eps, Random* random) {
  double best = 0;
  for (int start = 0; start < 40; ++start) {
    Vector at = random->normals(row.s.size());
    const auto project = [&](Vector* change) {
      const double size = size_in(budget, *change);
      for (double& x : *change) x = budget == Budget::infinity ? std::clamp(x, -eps, eps) : x * eps / size;
    };
    if (start % 2 == 1) {  // a single coordinate and its neighbourhood
      std::fill(at.begin(), at.end(), 0.0);
      at[static_cast<std::size_t>(start / 2) % at.size()] = start % 4 == 1 ? eps : -eps;
    }
    project(&at);
    double gain = attack_gain(row.s, row.x, at), step = eps;
    for (int t = 0; t < 1500; ++t) {
      Vector next = at;
      for (double& x : next) x += step * random->normal() * (random->uniform() < 0.4 ? 1 : 0);
      project(&next);
      const double value = attack_gain(row.s, row.x, next);
      if (value > gain)
        at = next, gain = value;
      else
        step = std::max(step * 0.99, 1e-7 * eps);
    }
    best = std::max(best, gain);
  }
  return best;
}

TEST(Attack, ByHand) {
  const Vector s = {0, 0}, x = {1, -1};
  for (const double eps : {0.1, 1.0, 3.0}) {
    EXPECT_NEAR(exact_attack(s, x, Budget::infinity, eps).gain, std::tanh(eps), 1e-14);
    EXPECT_NEAR(exact_attack(s, x, Budget::euclidean, eps).gain, std::tanh(eps / std::sqrt(2)), 1e-14);
    EXPECT_NEAR(exact_attack(s, x, Budget::absolute, eps).gain, std::tanh(eps / 2), 1e-14);
  }
}

TEST(Attack, InfinityEqualsAllSignPatterns) {
  Random random(4);
  for (const double eps : {0.1, 1.0, 3.0})
    for (int t = 0; t < 20; ++t) {
      const Row row = random_row(9, &random);
      double best = 0;
      for (unsigned mask = 0; mask < 512; ++mask) {
        Vector change(9);
        for (std::size_t i = 0; i < 9; ++i) change[i] = (mask >> i & 1u) != 0 ? eps : -eps;
        best = std::max(best, attack_gain(row.s, row.x, change));
      }
      EXPECT_NEAR(exact_attack(row.s, row.x, Budget::infinity, eps).gain, best, 1e-13);
    }
}

TEST(Attack, NothingWithinTheBudgetIsBetter) {
  Random random(6);
  for (const Budget budget : kBudgets)
    for (const double eps : {0.3, 1.0, 3.0, 6.0})
      for (int t = 0; t < 4; ++t) {
        const Row row = random_row(5, &random);
        const Attack attack = exact_attack(row.s, row.x, budget, eps);
        EXPECT_LE(size_in(budget, attack.change), eps * (1 + 1e-9));
        EXPECT_NEAR(attack.gain, attack_gain(row.s, row.x, attack.change), 1e-15);
        const double found = searched_gain(row, budget, eps, &random);
        EXPECT_GE(attack.gain, found - 1e-12) << static_cast<int>(budget) << " " << eps;
        EXPECT_LE(attack.gain, found * 1.01 + 1e-4) << static_cast<int>(budget) << " " << eps;
        EXPECT_GE(attack.gain, first_order_attack(row.s, row.x, budget, eps).gain - 1e-12);
      }
}

TEST(Attack, SmallBudgetsAreFirstOrder) {
  Random random(7);
  const Row row = random_row(12, &random);
  const double eps = 1e-4;
  const Vector g = output_gradient(row.s, row.x);
  const double dual[] = {size_in(Budget::absolute, g), size_in(Budget::euclidean, g), size_in(Budget::infinity, g)};
  for (const Budget budget : kBudgets) {
    const double expected = eps * dual[static_cast<std::size_t>(budget)];
    EXPECT_NEAR(first_order_attack(row.s, row.x, budget, eps).gain / expected, 1, 1e-3);
    EXPECT_NEAR(exact_attack(row.s, row.x, budget, eps).gain / expected, 1, 1e-3);
  }
}

TEST(Attack, NothingToGain) {
  for (const Budget budget : kBudgets) {
    EXPECT_EQ(exact_attack(Vector{1, 2, 3}, Vector{4, 4, 4}, budget, 2).gain, 0);
    EXPECT_EQ(exact_attack(Vector{1, 2, 3}, Vector{4, 5, 6}, budget, 0).gain, 0);
    EXPECT_EQ(first_order_attack(Vector{1}, Vector{4}, budget, 1).gain, 0);
    EXPECT_THROW(exact_attack(Vector{}, Vector{}, budget, 1), Error);
    EXPECT_THROW(exact_attack(Vector{1}, Vector{1, 2}, budget, 1), Error);
    EXPECT_THROW(exact_attack(Vector{1}, Vector{1}, budget, -1), Error);
    EXPECT_THROW(exact_attack(Vector{1}, Vector{1}, budget, HUGE_VAL), Error);
  }
  EXPECT_THROW(projections({{1, 2}}, Vector{1}), Error);
}

TEST(Attack, NormIsTheTopSingularValue) {
  Random random(8);
  const Vector s = random.normals(10);
  const Table v(10, 4, random.normals(40));
  Vector a = s;
  double sum = 0;
  for (double& x : a) sum += x = std::exp(x);
  for (double& x : a) x /= sum;
  const Attack attack = norm_attack(s, v, 0.5);
  EXPECT_NEAR(size_in(Budget::euclidean, attack.change), 0.5, 1e-14);
  EXPECT_NEAR(attack.gain, 0.5 * output_euclidean_norm(a, v), 1e-14);
  // The change attains the gain: the outputs of s +- t change differ by 2 t gain.
  const double t = 1e-4;
  double squares = 0;
  for (std::size_t d = 0; d < v.columns; ++d) {
    double moved[2] = {0, 0};
    for (const int side : {0, 1}) {
      double mass = 0;
      for (std::size_t i = 0; i < v.rows; ++i) {
        const double w = std::exp(s[i] + (side == 1 ? t : -t) * attack.change[i]);
        mass += w, moved[side] += w * v(i, d);
      }
      moved[side] /= mass;
    }
    squares += (moved[1] - moved[0]) * (moved[1] - moved[0]);
  }
  EXPECT_NEAR(std::sqrt(squares) / (2 * t), attack.gain, 1e-8);
}

}  // namespace
}  // namespace isentropic::theory
