// Both phases of the random energy model, the largest score and the saddle point.
#include "isentropic/theory/random_energy.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "isentropic/error.hpp"
#include "isentropic/theory/random_scores.hpp"

namespace isentropic::theory {
namespace {

TEST(RandomEnergy, HasTwoPhases) {
  const double log_n = std::log(1024);
  EXPECT_NEAR(random_energy_entropy(log_n, 1), log_n - 0.5, 1e-14);
  EXPECT_EQ(phase(log_n, 3.7), Phase::spread);
  EXPECT_EQ(phase(log_n, 3.8), Phase::frozen);  // sqrt(2 log 1024) = 3.723
  EXPECT_NEAR(random_energy_entropy(log_n, freezing_spread(log_n)), 0, 1e-14);
  EXPECT_NEAR(random_energy_entropy(log_n, 2 * freezing_spread(log_n)), 2 * std::log(2), 1e-13);
}

// m/(1-m) ... of the digamma series at m = 1/4: psi(1) - psi(3/4) = 3 log 2 - pi/2.
TEST(RandomEnergy, FrozenValueAtAQuarter) {
  EXPECT_NEAR(random_energy_entropy(100, 4 * freezing_spread(100)), 3 * std::log(2) - M_PI / 2, 1e-13);
}

TEST(RandomEnergy, CoefficientInvertsTheFrozenEntropy) {
  EXPECT_NEAR(frozen_coefficient(2 * std::log(2)), 2, 1e-10);
  for (const double h : {0.01, 0.5, 1.0, 2.0, 3.0, 50.0})
    EXPECT_NEAR(random_energy_entropy(10, frozen_coefficient(h) * freezing_spread(10)), h, 1e-8 * h) << h;
}

// The mean of the largest of n normals, by quadrature of 1 - Phi^n.
double mean_maximum(double n) {
  double sum = 0;
  for (double x = -12; x < 12; x += 1e-3) {
    const double below = std::pow(0.5 * std::erfc(-x / std::sqrt(2.0)), n);
    sum += 1e-3 * (x > 0 ? 1 - below : -below);
  }
  return sum;
}

TEST(RandomEnergy, CorrectedMaximumIsWithinTwoPercent) {
  for (const double n : {100.0, 1e3, 1e4, 1e5})
    EXPECT_NEAR(expected_maximum(std::log(n)) / mean_maximum(n), 1, 0.02) << n;
}

TEST(RandomEnergy, LimitOfTheMaximumHasTheRightMean) {
  for (const double n : {1e3, 1e5}) {
    const GumbelLimit limit = maximum_limit(n);
    EXPECT_NEAR(limit.location + 0.5772156649 * limit.scale, mean_maximum(n), 0.025) << n;
    EXPECT_NEAR(n * std::erfc(limit.location / std::sqrt(2.0)) / 2, 1, 1e-12) << n;
  }
}

TEST(RandomEnergy, CosineSaddlePoint) {
  EXPECT_NEAR(cosine_divergence(1e-3), 0.5e-6, 1e-11);
  // Measured values from the ledger: d = 64, n = 2^17.
  const double log_n = 17 * std::log(2);
  for (const auto& [lambda, entropy] : {std::pair{0.1, 11.468}, {0.2, 10.574}, {0.3, 9.229}})
    EXPECT_NEAR(cosine_saddle_entropy(log_n, 64, lambda), entropy, 6e-4) << lambda;
  EXPECT_NEAR(cosine_saddle_entropy(log_n, 64, 0.1), expected_row(ScoreLaw::cosine(64), log_n, 0.1).entropy, 0.002);
  EXPECT_NEAR(cosine_saddle_scale(log_n, 64, cosine_saddle_entropy(log_n, 64, 0.3)), 0.3, 1e-12);
}

TEST(RandomEnergy, ExponentOfTheDivergence) {
  for (const double lambda : {0.05, 0.5, 1.0, 5.0}) {
    const double h = 1e-5;
    const double difference =
        std::log(cosine_divergence(lambda * std::exp(h)) / cosine_divergence(lambda * std::exp(-h))) / (2 * h);
    EXPECT_NEAR(cosine_divergence_exponent(lambda), difference, 1e-6) << lambda;
  }
}

TEST(RandomEnergy, RefusesBadNumbers) {
  EXPECT_THROW(freezing_spread(0), Error);
  EXPECT_THROW(random_energy_entropy(1, -1), Error);
  EXPECT_THROW(frozen_coefficient(0), Error);
  EXPECT_THROW(expected_maximum(0.5), Error);
}

}  // namespace
}  // namespace isentropic::theory
