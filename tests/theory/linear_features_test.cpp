// The entropy deficit of linear attention, by hand and for random features.
#include "isentropic/theory/linear_features.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "isentropic/error.hpp"
#include "isentropic/theory/random_energy.hpp"

namespace isentropic::theory {
namespace {

TEST(LinearFeatures, DeficitByHand) {
  const std::vector<double> x = {1, 3};
  EXPECT_NEAR(entropy_deficit(x), 0.75 * std::log(3) - std::log(2), 1e-14);
}

TEST(LinearFeatures, DeficitKnowsNoScale) {
  const std::vector<double> x = {0, 1, 3, 7}, scaled = {0, 1e9, 3e9, 7e9};
  EXPECT_NEAR(entropy_deficit(x), entropy_deficit(scaled), 1e-13);
}

TEST(LinearFeatures, LognormalDeficit) {
  Random random(3);
  std::vector<double> x;
  for (int i = 0; i < 400000; ++i) x.push_back(std::exp(random.normal()));
  EXPECT_NEAR(entropy_deficit(x), lognormal_entropy_deficit(1), 0.02);
  EXPECT_EQ(lognormal_entropy_deficit(3), 4.5);
}

TEST(LinearFeatures, SharpeningReachesTheFrozenPhase) {
  const double tau = feature_sharpening(10, 2 * std::log(2), 3);
  EXPECT_NEAR(3 * tau, 2 * freezing_spread(10), 1e-8);
}

TEST(LinearFeatures, RefuseNegativeWeights) {
  EXPECT_THROW(entropy_deficit(std::vector<double>{1, -1}), Error);
  EXPECT_THROW(entropy_deficit(std::vector<double>{0, 0}), Error);
}

}  // namespace
}  // namespace isentropic::theory
