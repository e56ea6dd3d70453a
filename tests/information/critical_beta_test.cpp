// The threshold of the bottleneck: exact channels, an independent search, and the Gaussian bottleneck's closed form.
#include "isentropic/information/critical_beta.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"
#include "information/joints.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/distribution.hpp"

namespace isentropic::information {
namespace {

double ratio_of(const Table& joint, const std::vector<double>& r) {
  const std::vector<double> px = row_marginal(joint), py = column_marginal(joint);
  std::vector<double> q(joint.columns, 0.0);
  for (std::size_t x = 0; x < joint.rows; ++x)
    for (std::size_t y = 0; y < joint.columns; ++y) q[y] += r[x] * joint(x, y) / px[x];
  return kl_divergence(q, py) / kl_divergence(r, px);
}

TEST(CriticalBeta, ExactChannels) {
  for (double flip : {.05, .1, .3, .45}) {
    const Table joint{{.5 * (1 - flip), .5 * flip}, {.5 * flip, .5 * (1 - flip)}};
    const double expected = (1 - 2 * flip) * (1 - 2 * flip);
    EXPECT_NEAR(squared_maximal_correlation(joint), expected, 1e-12);
    EXPECT_NEAR(critical_beta(joint).global, expected, 1e-6) << flip;
  }
  // An erasure channel loses a share e of every divergence: beta_c = 1 - e.
  const Table erasure{{.35 * .7, 0, .35 * .3}, {0, .65 * .7, .65 * .3}};
  EXPECT_NEAR(critical_beta(erasure).global, .7, 1e-9);
  // Y = f(X).
  const Table function{{.2, 0}, {.3, 0}, {0, .5}};
  EXPECT_NEAR(critical_beta(function).global, 1, 1e-9);
  EXPECT_NEAR(critical_beta(function).local, 1, 1e-12);
  // Independent.
  const Table independent{{.12, .28}, {.18, .42}};
  EXPECT_NEAR(critical_beta(independent).global, 0, 1e-12);
  // X takes only one value.
  EXPECT_EQ(critical_beta({{.5, .5}, {0, 0}}).global, 0);
}

TEST(CriticalBeta, EightByThree) {
  const CriticalBeta found = critical_beta(eight_by_three());
  EXPECT_NEAR(found.local, .5973, 5e-5);
  EXPECT_NEAR(found.global, .6339, 5e-5);
  EXPECT_NEAR(ratio_of(eight_by_three(), found.input), found.global, 1e-9);
}

// No random input exceeds it, and it lies between the local threshold and 1.
TEST(CriticalBeta, IsASupremum) {
  Random random(12);
  for (int trial = 0; trial < 20; ++trial) {
    const std::size_t nx = 2 + static_cast<std::size_t>(trial % 5), ny = 2 + static_cast<std::size_t>(trial % 3);
    const Table joint(nx, ny, random.probabilities(nx * ny));
    const CriticalBeta found = critical_beta(joint);
    EXPECT_GE(found.global, found.local);
    EXPECT_LE(found.global, 1);
    EXPECT_NEAR(found.local, squared_maximal_correlation(joint), 1e-12);
    for (int s = 0; s < 2000; ++s) {
      std::vector<double> r = random.probabilities(nx);
      if (s % 2 == 0) {
        double sum = 0;
        for (double& p : r) sum += p = p * p * p;
        for (double& p : r) p /= sum;
      }
      EXPECT_LE(ratio_of(joint, r), found.global + 1e-9);
    }
  }
}

TEST(CriticalBeta, RefusesWhatIsNoDistribution) {
  EXPECT_THROW(critical_beta({{.5, .6}}), Error);
  EXPECT_THROW(squared_maximal_correlation(Table()), Error);
}

}  // namespace
}  // namespace isentropic::information
