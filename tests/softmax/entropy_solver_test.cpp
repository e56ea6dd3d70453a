// The target-entropy solver: it finds existing solutions within a few passes, and reports when there is none.
#include "isentropic/entropy_solver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "record_support.hpp"
#include "support/random.hpp"

namespace softmax_test {
namespace {

using isentropic::EntropySolver;
using isentropic::TargetEntropyStatus;
using support::Random;

Record record_at(const std::vector<double>& raw, double lambda) {
  std::vector<double> scores;
  for (double r : raw) scores.push_back(lambda * r);
  return record_of(scores);
}

EntropySolver solve(const std::vector<double>& raw, double target, double start, double tolerance = 1e-8) {
  EntropySolver solver(target, static_cast<std::int64_t>(raw.size()), start, tolerance);
  while (solver.active()) {
    const Record record = record_at(raw, solver.lambda());
    solver.update(entropy(record), score_variance(record));
  }
  return solver;
}

TEST(EntropySolver, TwoKeysByHand) {
  const double target = std::log(4.0) - 0.75 * std::log(3.0);  // H(1/4, 3/4)
  for (double start : {1e-3, 0.1, 1.0, 10.0, 100.0}) {
    const EntropySolver solver = solve({0, 1}, target, start, 1e-13);
    EXPECT_EQ(solver.status(), TargetEntropyStatus::solved);
    EXPECT_NEAR(solver.lambda(), std::log(3.0), 1e-11);
  }
}

TEST(EntropySolver, FiveHundredProblemsWithinFifteenPasses) {
  Random random(2024);
  int most = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const int n = static_cast<int>(random.integer(5, 3000));
    const std::vector<double> raw = random.normals(n, random.uniform(0.1, 10));
    const double target = random.uniform(0.05, 0.98) * std::log(n);
    const double start = std::pow(10, random.uniform(-3, 2));
    SCOPED_TRACE(testing::Message() << "trial " << trial << ", n " << n << ", target " << target << ", start "
                                    << start);
    const EntropySolver solver = solve(raw, target, start);
    ASSERT_EQ(solver.status(), TargetEntropyStatus::solved);
    EXPECT_NEAR(entropy(record_at(raw, solver.lambda())), target, 1e-8);
    EXPECT_GT(solver.lambda(), 0);
    EXPECT_LE(solver.iterations(), 15);
    most = std::max(most, solver.iterations());
  }
  RecordProperty("most_iterations", most);
}

// Scores that no Gaussian law describes: ties, two levels, heavy tails, one key far ahead or far behind.
TEST(EntropySolver, AwkwardScores) {
  Random random(5);
  std::vector<std::vector<double>> problems;
  problems.push_back(std::vector<double>(1024, -2.0));
  problems.back()[7] = 3.0;
  problems.push_back(std::vector<double>(100, 1.0));
  for (int j = 0; j < 50; ++j) problems.back()[j] = 0.0;
  problems.push_back({});
  for (int j = 0; j < 200; ++j) problems.back().push_back(std::tan(3.1 * (random.uniform() - 0.5)));
  problems.push_back(random.normals(64));
  problems.back()[3] = -1e4;
  problems.push_back(random.normals(64));
  problems.back()[3] = 1e4;
  for (const auto& raw : problems) {
    const double top = *std::max_element(raw.begin(), raw.end());
    const double ties = static_cast<double>(std::count(raw.begin(), raw.end(), top));
    const double low = std::log(ties), high = std::log(static_cast<double>(raw.size()));
    for (double part : {0.05, 0.3, 0.6, 0.95}) {
      for (double start : {1e-3, 1.0, 100.0}) {
        const double target = low + part * (high - low);
        SCOPED_TRACE(testing::Message() << raw.size() << " keys, part " << part << ", start " << start);
        const EntropySolver solver = solve(raw, target, start);
        EXPECT_EQ(solver.status(), TargetEntropyStatus::solved);
        EXPECT_NEAR(entropy(record_at(raw, solver.lambda())), target, 1e-8);
      }
    }
  }
}

TEST(EntropySolver, MoreThanUniformSaturatesAtZero) {
  const std::vector<double> raw = {0.5, -1, 2};
  for (double target : {std::log(3.0), 1.2, 100.0, std::numeric_limits<double>::infinity()}) {
    const EntropySolver solver = solve(raw, target, 1.0);
    EXPECT_EQ(solver.status(), TargetEntropyStatus::above_reach);
    EXPECT_EQ(solver.lambda(), 0);
    EXPECT_EQ(solver.iterations(), 0);
  }
  EXPECT_EQ(solve({4.0}, 0.0, 1.0).status(), TargetEntropyStatus::above_reach);  // one key: H = 0 = log 1
  EXPECT_EQ(solve({4.0}, 0.5, 1.0).status(), TargetEntropyStatus::above_reach);
  EXPECT_EQ(solve({}, 0.5, 1.0).status(), TargetEntropyStatus::above_reach);
}

TEST(EntropySolver, TiesSetAFloor) {
  // Two keys share the maximum: H >= log 2 for every lambda.
  const std::vector<double> tied = {1, 1, 0, -1};
  for (double target : {0.0, 0.3, std::log(2.0) - 1e-6}) {
    for (double start : {1e-3, 1.0, 100.0}) {
      const EntropySolver solver = solve(tied, target, start);
      EXPECT_EQ(solver.status(), TargetEntropyStatus::below_reach);
      EXPECT_TRUE(std::isfinite(solver.lambda()));
      EXPECT_NEAR(entropy(record_at(tied, solver.lambda())), std::log(2.0), 1e-6);
    }
  }
  // All equal: H = log k whatever lambda, so nothing below it can be reached.
  EXPECT_EQ(solve({2, 2, 2, 2}, 0.5, 1.0).status(), TargetEntropyStatus::below_reach);
}

// Rounding may shift the scores of tied keys together: a gap below the maximum without any variance.
TEST(EntropySolver, TakesARoundingErrorForNoGap) {
  EntropySolver solver(0.5, 8, 100.0, 1e-8);
  solver.update(std::log(8.0), 0.0, 1e-6);
  EXPECT_EQ(solver.status(), TargetEntropyStatus::below_reach);
  EXPECT_EQ(solver.lambda(), 100.0);
}

TEST(EntropySolver, ScoresThatAreNotFinite) {
  EntropySolver solver(0.5, 3, 1.0, 1e-8);
  solver.update(std::numeric_limits<double>::quiet_NaN(), 1.0);
  EXPECT_FALSE(solver.active());
  EXPECT_EQ(solver.status(), TargetEntropyStatus::not_converged);
  EntropySolver other(0.5, 3, 1.0, 1e-8);
  other.update(0.7, std::numeric_limits<double>::infinity());
  EXPECT_EQ(other.status(), TargetEntropyStatus::not_converged);
}

TEST(EntropySolver, StopsWhateverItIsTold) {
  // An entropy that never responds to lambda, with a variance that suggests it would.
  EntropySolver solver(0.5, 100, 1.0, 1e-8);
  for (int pass = 0; pass < EntropySolver::kMaxIterations; ++pass) {
    ASSERT_TRUE(solver.active());
    solver.update(0.9, 1.0);
  }
  EXPECT_FALSE(solver.active());
  EXPECT_EQ(solver.status(), TargetEntropyStatus::not_converged);
  EXPECT_EQ(solver.iterations(), EntropySolver::kMaxIterations);
}

}  // namespace
}  // namespace softmax_test
