// Moments of dot products, against exact averages over sign vectors and over Gaussian draws.
#include "isentropic/theory/dot_products.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"
#include "isentropic/error.hpp"

namespace isentropic::theory {
namespace {

TEST(DotProducts, SignVectorsWithoutCorrelation) {
  // Coordinates +-1.5, all 4^3 pairs of vectors of three coordinates.
  double mean = 0, squares = 0;
  for (unsigned pattern = 0; pattern < 64; ++pattern) {
    double product = 0;
    for (int i = 0; i < 3; ++i) {
      const double q = (pattern >> i) & 1 ? 1.5 : -1.5, k = (pattern >> (i + 3)) & 1 ? 1.5 : -1.5;
      product += q * k;
    }
    mean += product / 64, squares += product * product / 64;
  }
  EXPECT_NEAR(mean_dot_product(3, 1.5), mean, 1e-13);
  EXPECT_NEAR(variance_of_dot_product(3, 1.5), squares, 1e-12);
}

TEST(DotProducts, CorrelatedGaussians) {
  Random random(4);
  const double rho = 0.6, sigma = 2;
  const int draws = 400000;
  double mean = 0, squares = 0;
  for (int t = 0; t < draws; ++t) {
    double product = 0;
    for (int i = 0; i < 2; ++i) {
      const double q = random.normal(), k = rho * q + std::sqrt(1 - rho * rho) * random.normal();
      product += sigma * sigma * q * k;
    }
    mean += product / draws, squares += product * product / draws;
  }
  EXPECT_NEAR(mean_dot_product(2, sigma, rho) / mean, 1, 0.02);
  EXPECT_NEAR(variance_of_dot_product(2, sigma, rho) / (squares - mean * mean), 1, 0.03);
  EXPECT_NEAR(variance_of_dot_product(64, 1, 0.6), 87.04, 1e-12);
  EXPECT_NEAR(mean_dot_product(64, 1, 0.6), 38.4, 1e-12);
  // rho = -+1 is -+|q|^2, sigma^2 times chi-squared of d: mean d, variance 2 d.
  EXPECT_DOUBLE_EQ(mean_dot_product(3, 2, -1), -12);
  EXPECT_DOUBLE_EQ(variance_of_dot_product(3, 2, 1), 96);
}

TEST(DotProducts, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(mean_dot_product(0, 1), Error);
  EXPECT_THROW(variance_of_dot_product(1, 1, 1.5), Error);
  EXPECT_THROW(variance_of_dot_product(1, -1), Error);
}

}  // namespace
}  // namespace isentropic::theory
