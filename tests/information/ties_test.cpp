// Repeated values: integers, rounded numbers, lattices. The truths are finite sums.
#include <gtest/gtest.h>

#include <boost/math/special_functions/digamma.hpp>
#include <cmath>

#include "base/random.hpp"
#include "information/correlated.hpp"
#include "isentropic/information/multivariate.hpp"
#include "isentropic/information/mutual_information.hpp"

namespace isentropic::information {
namespace {

using Estimator = InformationEstimator;
using boost::math::digamma;

double whole(Random* random, int values) { return static_cast<double>(random->integer(0, values - 1)); }

// A fair coin together with a number from 0 ... 29 or from 10 ... 39, which reveals the coin outside of 10 ... 29.
TEST(Ties, SymbolsAgainstIntegers) {
  const double truth = std::log(2) / 3;
  for (const std::uint64_t seed : {1, 2, 3}) {
    Random random(seed);
    Pair pair{Table(2000, 1), Table(2000, 1)};
    for (std::size_t i = 0; i < 2000; ++i) {
      pair.x(i, 0) = whole(&random, 2);
      pair.y(i, 0) = 10 * pair.x(i, 0) + whole(&random, 30);
    }
    EXPECT_NEAR(mixed_mutual_information(pair.x, pair.y), truth, .05) << seed;
    EXPECT_NEAR(mesner_shalizi_mutual_information(pair.x, pair.y), truth, .05) << seed;
  }
}

// x from 0 ... 59 and y = x + one of 0 ... 19: H(y) - log 20.
TEST(Ties, IntegersAgainstIntegers) {
  double truth = -std::log(20);
  for (int y = 0; y < 79; ++y) {
    const double p = std::min({y + 1, 20, 79 - y}) / 1200.0;
    truth -= p * std::log(p);
  }
  for (const std::uint64_t seed : {1, 2, 3}) {
    Random random(seed);
    Table x(1500, 1), y(1500, 1), other(1500, 1);
    for (std::size_t i = 0; i < 1500; ++i) {
      x(i, 0) = whole(&random, 60);
      y(i, 0) = x(i, 0) + whole(&random, 20);
      other(i, 0) = whole(&random, 60);
    }
    EXPECT_EQ(suitable_estimator(x, y), Estimator::mesner_shalizi);
    EXPECT_NEAR(mesner_shalizi_mutual_information(x, y), truth, .06) << seed;
    EXPECT_NEAR(mesner_shalizi_mutual_information(x, other), 0, .06) << seed;
    EXPECT_NEAR(mesner_shalizi_mutual_information(x, y, other), truth, .15) << seed;
    EXPECT_NEAR(mesner_shalizi_mutual_information(y, other, x), 0, .06) << seed;
  }
}

TEST(Ties, WithoutThemAsKsg) {
  const Pair pair = correlated(2000, 1, .75, 4), given = correlated(2000, 1, 0, 5);
  EXPECT_NEAR(mesner_shalizi_mutual_information(pair.x, pair.y), ksg_mutual_information(pair.x, pair.y), .03);
  EXPECT_NEAR(mesner_shalizi_mutual_information(pair.x, pair.y, given.x),
              ksg_conditional_mutual_information(pair.x, pair.y, given.x), .08);
}

TEST(Ties, ByHand) {
  // Two points at each of two places: everywhere one neighbour at distance 0.
  const Table twice{{0}, {0}, {1}, {1}};
  EXPECT_NEAR(mesner_shalizi_mutual_information(twice, twice, {}, 1), digamma(4) - digamma(1), 1e-12);
  EXPECT_NEAR(mesner_shalizi_mutual_information(twice, twice, twice, 1), 0, 1e-12);
  // Equal steps: two neighbours at the smallest distance, one at the ends; rounding must not separate them.
  Table steps(6, 1);
  for (std::size_t i = 0; i < 6; ++i) steps(i, 0) = .1 * static_cast<double>(i);
  const double expected = digamma(6) - (4 * digamma(2) + 2 * digamma(1)) / 6;
  for (const Scaling scaling : {Scaling::none, Scaling::standardised})
    EXPECT_NEAR(mesner_shalizi_mutual_information(steps, steps, {}, 1, scaling), expected, 1e-12);
  // The same steps under two alternating symbols, three each: within two steps there are 1 2 1 of the same symbol, and
  // 2 3 4 4 3 2 of all.
  const Table turns{{0}, {1}, {0}, {1}, {0}, {1}};
  const double own = (4 * digamma(1) + 2 * digamma(2)) / 6;
  const double around = (digamma(2) + digamma(3) + digamma(4)) / 3;
  for (const Scaling scaling : {Scaling::none, Scaling::standardised})
    EXPECT_NEAR(mixed_mutual_information(turns, steps, 1, scaling), digamma(6) + own - digamma(3) - around, 1e-12);
}

TEST(Ties, TwoVariablesCorrelateByTheirInformation) {
  const Table samples{{0, 1}, {0, 1}, {1, 1}, {1, 0}, {2, 0}, {2, 3}, {3, 3}};
  Table x(7, 1), y(7, 1);
  for (std::size_t i = 0; i < 7; ++i) x(i, 0) = samples(i, 0), y(i, 0) = samples(i, 1);
  InformationOptions options;
  options.estimator = Estimator::mesner_shalizi;
  const double expected = mesner_shalizi_mutual_information(x, y);
  const Correlation found = estimate_correlation(samples, options);
  EXPECT_NEAR(found.total, expected, 1e-12);
  EXPECT_NEAR(found.dual_total, expected, 1e-12);
}

}  // namespace
}  // namespace isentropic::information
