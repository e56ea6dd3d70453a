// What the k largest weights omit, against the top-k softmax of the kernels.
#include "isentropic/theory/top_k.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "isentropic/attention.hpp"

namespace isentropic::theory {
namespace {

TEST(TopK, ByHand) {
  const std::vector<double> p = {0.25, 0.5, 0.25};
  EXPECT_DOUBLE_EQ(top_k_missing_mass(p, 1), 0.5);
  EXPECT_DOUBLE_EQ(top_k_missing_mass(p, 2), 0.25);
  EXPECT_EQ(top_k_missing_mass(p, 3), 0);
  EXPECT_EQ(top_k_missing_mass(p, 100), 0);
  EXPECT_DOUBLE_EQ(top_k_l1_distance(0.5), 1);
  EXPECT_DOUBLE_EQ(top_k_output_bound(0.5, 3), 3);
  // Computing 1 minus the kept mass would give 0.
  const std::vector<double> sharp = {1, 1e-18, 2e-18};
  EXPECT_DOUBLE_EQ(top_k_missing_mass(sharp, 1), 3e-18);
}

TEST(TopK, DistanceIsExactAndTheBoundHolds) {
  Random random(4);
  const std::int64_t n = 12;
  const double one = 1;
  double closest = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const std::vector<double> scores = random.normals(n, 2), values = random.normals(n);
    double largest = 0;
    for (const double v : values) largest = std::max(largest, std::abs(v));
    const std::int64_t k = random.integer(1, n);
    AttentionProblem problem{.query = View(&one, {1, 1, 1, 1}),
                             .key = View(scores.data(), {1, 1, n, 1}),
                             .value = View(values.data(), {1, 1, n, 1}),
                             .scale = Scale::constant(1)};
    const std::vector<double> p = attention_weights(problem, {0}).to_doubles();
    const double output = attention(problem).output.to_doubles()[0];
    problem.map = ScoreMap::top_k(k);
    const std::vector<double> kept = attention_weights(problem, {0}).to_doubles();
    const double missing = top_k_missing_mass(p, k);
    double distance = 0;
    for (std::size_t j = 0; j < p.size(); ++j) distance += std::abs(p[j] - kept[j]);
    EXPECT_NEAR(distance, top_k_l1_distance(missing), 1e-13);
    const double error = std::abs(attention(problem).output.to_doubles()[0] - output);
    EXPECT_LE(error, top_k_output_bound(missing, largest) + 1e-14);
    if (missing > 0) closest = std::max(closest, error / top_k_output_bound(missing, largest));
  }
  EXPECT_GT(closest, 0.5);  // the bound is not loose
}

TEST(TopK, RefusesBadInput) {
  const std::vector<double> p = {0.5, 0.5}, q = {0.5, 0.6};
  EXPECT_THROW(top_k_missing_mass(p, 0), Error);
  EXPECT_THROW(top_k_missing_mass(q, 1), Error);
}

}  // namespace
}  // namespace isentropic::theory
