// Laplace's method against numerical integrals, and the arguments it rejects.
#include "isentropic/theory/laplace.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "isentropic/error.hpp"
#include "isentropic/theory/random_scores.hpp"

namespace isentropic::theory {
namespace {

TEST(Laplace, IntegralTendsToTheTruth) {
  // f = -x^2/2 - x^4/4: f* = 0, f'' = -1.
  for (const auto& [n, ratio] : {std::pair{1.0, 0.772}, {10.0, 0.945}, {100.0, 0.993}, {1000.0, 0.9993}}) {
    double sum = 0;
    for (double x = -6; x < 6; x += 1e-3) sum += 1e-3 * std::exp(n * (-x * x / 2 - x * x * x * x / 4));
    EXPECT_NEAR(sum / std::exp(laplace_log_integral(n, 0, -1)), ratio, 6e-4) << n;
  }
}

// int exp(5 (3 - 2 x^2)) dx = e^15 sqrt(pi / 10).
TEST(Laplace, IsExactForAParabola) {
  EXPECT_NEAR(laplace_log_integral(5, 3, -4), 15 + std::log(std::numbers::pi / 10) / 2, 1e-14);
}

TEST(Laplace, IsExactForGaussianScores) {
  for (const auto& [lambda, sigma] : {std::pair{1.0, 1.0}, {2.0, 1.0}, {1.0, 2.0}}) {
    const double s = lambda * sigma * sigma;
    const double log_density = -s * s / (2 * sigma * sigma) - std::log(2 * std::numbers::pi * sigma * sigma) / 2;
    EXPECT_NEAR(laplace_log_mean_exp(lambda, s, log_density, -1 / (sigma * sigma)), lambda * lambda * sigma * sigma / 2,
                1e-13);
  }
}

TEST(Laplace, UniformScoresHaveAnEdge) {
  EXPECT_NEAR(uniform_log_mean_exp(20, 1, 1), 17.0043, 5e-5);
  EXPECT_NEAR(uniform_log_mean_exp_edge(20, 1, 1), uniform_log_mean_exp(20, 1, 1), 1e-8);
  EXPECT_NEAR(uniform_scores_entropy(std::log(1e4), 20, 1),
              expected_row(ScoreLaw::uniform(), std::log(1e4), 20).entropy, 0.002);
  // On [-3/2, 1/2] at lambda = 3: (e^{3/2} - e^{-9/2}) / 6. Doubling the width is the same as doubling lambda.
  EXPECT_NEAR(uniform_log_mean_exp(3, 0.5, 2), std::log((std::exp(1.5) - std::exp(-4.5)) / 6), 1e-14);
  EXPECT_NEAR(uniform_log_mean_exp_edge(3, 0.5, 2), std::log(std::exp(1.5) / 6), 1e-14);
  EXPECT_NEAR(uniform_scores_entropy(std::log(1e4), 10, 2), std::log(500 * std::numbers::e), 1e-14);
}

TEST(Laplace, RefusesAMinimum) { EXPECT_THROW(laplace_log_integral(1, 0, 1), Error); }

// Two functions named require_positive once collided: whether infinity passed depended on which one the linker kept.
TEST(Laplace, RefusesInfinityAtEveryOptimisationLevel) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THROW(uniform_scores_entropy(5, infinity, 1), Error);
  EXPECT_THROW(uniform_scores_entropy(5, 1, infinity), Error);
  EXPECT_THROW(uniform_log_mean_exp(infinity, 1, 1), Error);
  EXPECT_THROW(laplace_log_integral(infinity, 0, -1), Error);
  EXPECT_THROW(laplace_log_mean_exp(1, 1, 0, -infinity), Error);
}

}  // namespace
}  // namespace isentropic::theory
