// Noise on scores: moments against quadrature, bias and spread against simulation.
#include "isentropic/theory/noise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "base/random.hpp"
#include "isentropic/error.hpp"

namespace isentropic::theory {
namespace {

using namespace information;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double density(const NoiseLaw& law, double x) {
  const double p = law.parameter();
  switch (law.family()) {
    case NoiseFamily::gaussian:
      return std::exp(-x * x / (2 * p * p)) / (p * std::sqrt(2 * std::numbers::pi));
    case NoiseFamily::uniform:
      return std::abs(x) <= p ? 0.5 / p : 0;
    case NoiseFamily::laplace:
      return std::exp(-std::abs(x) / p) / (2 * p);
    case NoiseFamily::gumbel:
      return p * std::exp(-p * x - std::exp(-p * x));
  }
  return 0;
}

// The midpoint rule, exact at the kinks because they lie between cells.
double quadrature(const NoiseLaw& law, double order) {
  const double end = law.family() == NoiseFamily::uniform ? law.parameter() : 60 + 40 * law.parameter();
  constexpr int kCells = 4'000'000;
  double sum = 0;
  for (int i = 0; i < kCells; ++i) {
    const double x = end * (2 * (i + 0.5) / kCells - 1);
    sum += std::exp(order * x) * density(law, x);
  }
  return sum * 2 * end / kCells;
}

TEST(NoiseLaw, MomentsAreTheIntegrals) {
  for (const NoiseLaw& law : {NoiseLaw::gaussian(0.5), NoiseLaw::gaussian(2), NoiseLaw::uniform(0.5),
                              NoiseLaw::uniform(3), NoiseLaw::laplace(0.3), NoiseLaw::gumbel(3)})
    for (const double order : {1.0, 2.0})
      EXPECT_NEAR(law.exponential_moment(order) / quadrature(law, order), 1, 1e-8)
          << static_cast<int>(law.family()) << " of " << law.parameter() << ", order " << order;
  EXPECT_NEAR(NoiseLaw::laplace(0.9).exponential_moment() / quadrature(NoiseLaw::laplace(0.9), 1), 1, 1e-4);
}

TEST(NoiseLaw, ValuesByHand) {
  EXPECT_DOUBLE_EQ(NoiseLaw::gaussian(1).exponential_moment(), std::exp(0.5));
  EXPECT_DOUBLE_EQ(NoiseLaw::laplace(0.9).exponential_moment(), 1 / 0.19);
  EXPECT_NEAR(NoiseLaw::gumbel(3).exponential_moment(), 1.3541179394264005, 1e-14);  // Gamma(2/3)
  EXPECT_DOUBLE_EQ(NoiseLaw::gaussian(1).variance_ratio(), std::numbers::e - 1);
}

TEST(NoiseLaw, VarianceRatioIsThatOfTheMoments) {
  for (const NoiseLaw& law : {NoiseLaw::gaussian(0.7), NoiseLaw::uniform(0.5), NoiseLaw::uniform(4),
                              NoiseLaw::laplace(0.3), NoiseLaw::laplace(0.49), NoiseLaw::gumbel(2.5)}) {
    const double mean = law.exponential_moment(1);
    EXPECT_NEAR(law.variance_ratio() / (law.exponential_moment(2) / (mean * mean) - 1), 1, 1e-12);
  }
  // Small noise: the ratio is the variance of the noise itself, of which the moments would lose ten digits.
  EXPECT_NEAR(NoiseLaw::uniform(1e-5).variance_ratio() / (1e-10 / 3), 1, 1e-9);
  for (const long double a : {0.01L, 0.019L, 0.021L})
    EXPECT_NEAR(NoiseLaw::uniform(static_cast<double>(a)).variance_ratio() / (a / std::tanh(a) - 1), 1, 3e-9);
}

TEST(NoiseLaw, EdgesDiverge) {
  EXPECT_EQ(NoiseLaw::laplace(1).exponential_moment(), kInfinity);
  EXPECT_EQ(NoiseLaw::laplace(0.5).exponential_moment(2), kInfinity);
  EXPECT_EQ(NoiseLaw::laplace(0.5).variance_ratio(), kInfinity);
  EXPECT_EQ(NoiseLaw::laplace(2).exponential_moment(-1), kInfinity);
  EXPECT_EQ(NoiseLaw::gumbel(1).exponential_moment(), kInfinity);
  EXPECT_EQ(NoiseLaw::gumbel(2).variance_ratio(), kInfinity);
  EXPECT_EQ(NoiseLaw::gaussian(0).variance_ratio(), 0);
  EXPECT_EQ(NoiseLaw::gumbel(kInfinity).variance_ratio(), 0);
  EXPECT_EQ(NoiseLaw::uniform(0).exponential_moment(), 1);
}

TEST(NoiseLaw, RatesFollowTheTail) {
  EXPECT_EQ(NoiseLaw::gaussian(3).rate_exponent(), -0.5);
  EXPECT_EQ(NoiseLaw::laplace(0.3).rate_exponent(), -0.5);
  EXPECT_EQ(NoiseLaw::gumbel(2.5).rate_exponent(), -0.5);
  EXPECT_DOUBLE_EQ(NoiseLaw::laplace(0.75).rate_exponent().value(), -0.25);
  EXPECT_DOUBLE_EQ(NoiseLaw::gumbel(1.5).rate_exponent().value(), -1.0 / 3);
  EXPECT_FALSE(NoiseLaw::laplace(1).rate_exponent());
  EXPECT_FALSE(NoiseLaw::gumbel(0.5).rate_exponent());
}

TEST(NoiseLaw, RefusesWhatIsNoParameter) {
  EXPECT_THROW(NoiseLaw::gaussian(-1), Error);
  EXPECT_THROW(NoiseLaw::uniform(kInfinity), Error);
  EXPECT_THROW(NoiseLaw::laplace(std::nan("")), Error);
  EXPECT_THROW(NoiseLaw::gumbel(0), Error);
}

TEST(NoiseEffect, ByHand) {
  // a = (3/4, 1/4), v = (0, 1): o = 1/4, a^2 (v - o) = (-9/64, 3/64), a^2 (v - o)^2 = (9/256, 9/256).
  const std::vector<double> weights = {0.75, 0.25};
  const NoiseEffect effect = noise_effect(weights, Table(2, 1, std::vector<double>{0, 1}), 2);
  EXPECT_DOUBLE_EQ(effect.bias[0], 2 * 6.0 / 64);
  EXPECT_DOUBLE_EQ(effect.rms, std::sqrt(2 * 18.0 / 256));
}

TEST(NoiseEffect, MatchesSimulation) {
  const std::size_t n = 40;
  const NoiseLaw law = NoiseLaw::uniform(0.8);
  Random random(3);
  const std::vector<double> weights = random.probabilities(n);
  const Table values(n, 2, random.normals(2 * n));
  const NoiseEffect effect = noise_effect(weights, values, law.variance_ratio());
  double plain[2] = {0, 0}, sum[2] = {0, 0}, squares = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t d = 0; d < 2; ++d) plain[d] += weights[i] * values(i, d);
  constexpr int kDraws = 200'000;
  for (int t = 0; t < kDraws; ++t) {
    double mass = 0, top[2] = {0, 0};
    for (std::size_t i = 0; i < n; ++i) {
      const double w = weights[i] * std::exp(random.uniform(-0.8, 0.8));
      mass += w;
      for (std::size_t d = 0; d < 2; ++d) top[d] += w * values(i, d);
    }
    for (std::size_t d = 0; d < 2; ++d) {
      const double away = top[d] / mass - plain[d];
      sum[d] += away;
      squares += away * away;
    }
  }
  EXPECT_NEAR(std::sqrt(squares / kDraws) / effect.rms, 1, 0.02);
  for (std::size_t d = 0; d < 2; ++d)
    EXPECT_NEAR(sum[d] / kDraws, effect.bias[d], 5 * effect.rms / std::sqrt(kDraws) + 0.1 * std::abs(effect.bias[d]));
}

TEST(NoiseEffect, GroupsAreKeys) {
  const std::size_t n = 64, g = 4;
  Table values(n, 1);
  std::vector<std::int64_t> groups(n);
  for (std::size_t i = 0; i < n; ++i) {
    groups[i] = static_cast<std::int64_t>(100 - i / g);
    values(i, 0) = i / g % 2 == 0 ? 1 : -1;
  }
  const std::vector<double> weights(n, 1.0 / n);
  EXPECT_NEAR(group_noise_effect(weights, values, groups, 3).rms, std::sqrt(3.0 * g / n), 1e-15);
  // Values that alternate within every group cancel.
  for (std::size_t i = 0; i < n; ++i) values(i, 0) = i % 2 == 0 ? 1 : -1;
  EXPECT_NEAR(group_noise_effect(weights, values, groups, 3).rms, 0, 1e-15);
  EXPECT_THROW(group_noise_effect(weights, values, std::vector<std::int64_t>(3), 1), Error);
  EXPECT_THROW(noise_effect(weights, Table(3, 1), 1), Error);
  EXPECT_THROW(noise_effect(weights, values, -1), Error);
}

TEST(NoiseEffect, NoiseThatLeansWithTheValuesStays) {
  const std::vector<double> weights = {0.5, 0.5}, values = {1, -1};
  for (const double c : {-2.0, 0.0, 0.5, 800.0})
    EXPECT_NEAR(value_noise_shift(weights, values, c), std::tanh(c), 1e-15);
  // Weights (3/4, 1/4) on (0, 1): e^c = 3 makes them equal, so the output moves from 1/4 to 1/2.
  EXPECT_NEAR(value_noise_shift(std::vector{0.75, 0.25}, std::vector{0.0, 1.0}, std::log(3.0)), 0.25, 1e-15);
}

TEST(NoiseEffect, TwoKeys) {
  Random random(5);
  for (const double sigma : {0.3, 1.0, 4.0}) {
    double squares = 0;
    constexpr int kDraws = 400'000;
    for (int t = 0; t < kDraws; ++t) {
      const double x = std::tanh(sigma * (random.normal() - random.normal()) / 2);
      squares += x * x;
    }
    EXPECT_NEAR(two_key_gaussian_rms(sigma) / std::sqrt(squares / kDraws), 1, 0.01);
  }
  EXPECT_NEAR(two_key_gaussian_rms(1), 0.5231, 5e-5);
  EXPECT_NEAR(two_key_gaussian_rms(1e-4) / (1e-4 / std::numbers::sqrt2), 1, 1e-7);
  // Strong noise, s = sigma / sqrt 2: E sech^2(s z) = (2 - pi^2 / (12 s^2) + ...) / (s sqrt(2 pi)).
  const double s = 100 / std::numbers::sqrt2, pi = std::numbers::pi;
  EXPECT_NEAR(two_key_gaussian_rms(100), std::sqrt(1 - (2 - pi * pi / (12 * s * s)) / (s * std::sqrt(2 * pi))), 1e-9);
}

TEST(MeanOfRatio, IsHomogeneousAndExactForProportions) {
  EXPECT_DOUBLE_EQ(mean_of_ratio({.mean_x = 3, .mean_y = 2}), 1.5);
  // X = 5 Y: the ratio is 5, and Cov = 5 Var cancels.
  EXPECT_DOUBLE_EQ(mean_of_ratio({.mean_x = 10, .mean_y = 2, .covariance = 5 * 0.3, .variance_y = 0.3}), 5);
  const RatioMoments x{3, 2, 0.1, 0.3}, ten{30, 2, 1, 0.3};
  EXPECT_DOUBLE_EQ(mean_of_ratio(ten), 10 * mean_of_ratio(x));
}

}  // namespace
}  // namespace isentropic::theory
