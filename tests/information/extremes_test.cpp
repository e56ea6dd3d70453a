// Valid but awkward data: numbers near the limits of double, points repeated by the hundred thousand, probabilities of
// 1e-13, tables whose shape does not match their content.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "base/random.hpp"
#include "information/bottleneck_problem.hpp"
#include "information/point_tree.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/distribution.hpp"
#include "isentropic/information/entropy.hpp"
#include "isentropic/information/multivariate.hpp"
#include "isentropic/information/mutual_information.hpp"
#include "isentropic/information/significance.hpp"

namespace isentropic::information {
namespace {

// Correlated Gaussians times 2^exponent.
struct ScaledPair {
  Table x, y;
};
ScaledPair pair_times(int exponent) {
  constexpr std::size_t kRows = 400;
  Random random(7);
  ScaledPair out{Table(kRows, 1), Table(kRows, 1)};
  for (std::size_t r = 0; r < kRows; ++r) {
    const double a = random.normal(), b = random.normal();
    out.x(r, 0) = std::ldexp(a, exponent);
    out.y(r, 0) = std::ldexp(.75 * a + .66 * b, exponent);
  }
  return out;
}

TEST(Extremes, InformationDoesNotDependOnTheUnit) {
  for (InformationEstimator estimator : {InformationEstimator::ksg1, InformationEstimator::ksg2,
                                         InformationEstimator::gaussian, InformationEstimator::binned}) {
    InformationOptions options;
    options.estimator = estimator;
    const ScaledPair usual = pair_times(0);
    const double expected = estimate_information(usual.x, usual.y, options);
    for (int exponent : {-900, 700, 1021}) {  // at 1021 differences exceed the largest double
      const ScaledPair other = pair_times(exponent);
      EXPECT_EQ(estimate_information(other.x, other.y, options), expected) << name(estimator) << " 2^" << exponent;
    }
  }
}

TEST(Extremes, GaussianEntropyAndCorrelationOfHugeAndTinyNumbers) {
  InformationOptions gaussian;
  gaussian.estimator = InformationEstimator::gaussian;
  const ScaledPair usual = pair_times(0);
  const Table both = beside(usual.x, usual.y);
  for (int exponent : {-900, 900}) {
    const ScaledPair pair = pair_times(exponent);
    const Table other = beside(pair.x, pair.y);
    EXPECT_NEAR(gaussian_entropy_from_samples(other),
                gaussian_entropy_from_samples(both) + 2 * exponent * std::numbers::ln2, 1e-9);
    EXPECT_NEAR(estimate_correlation(other, gaussian).total, estimate_correlation(both, gaussian).total, 1e-12);
  }
}

TEST(Extremes, NeighboursAtInfiniteDistanceAreStillNeighbours) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const PointTree tree(Table(2, 1, {-kMost, kMost}));
  Neighbour found{0, 7};
  tree.nearest(0, 1, &found);
  EXPECT_EQ(found.position, 1u);
  EXPECT_TRUE(std::isinf(found.distance));
}

TEST(Extremes, EqualPointsDoNotTakeQuadraticTime) {
  constexpr std::size_t kRows = 300000;
  const PointTree tree(Table(kRows, 2, 1.5));
  const auto start = std::chrono::steady_clock::now();
  std::vector<Neighbour> found(3);
  double sum = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    tree.nearest(i, 3, found.data());
    for (const Neighbour& neighbour : found) {
      sum += neighbour.distance;
      ASSERT_NE(neighbour.position, i);
    }
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(sum, 0);
  EXPECT_LT(taken.count(), 3);  // takes 0.05 s; checking all of them would take minutes
}

TEST(Extremes, SurrogatesThatDifferByRoundingAreEqual) {
  // The measure depends on the order of the rows only by rounding.
  const Table x(20, 1, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  int calls = 0;
  const InformationMeasure measure = [&](const Table&, const Table&, const Table&) {
    return calls++ == 0 ? .1 + .2 : .3;
  };
  EXPECT_EQ(permutation_significance(x, x, {}, measure, 9, 1).p_value, 1);
}

TEST(Extremes, AnInfiniteEstimateIsReachedByInfiniteSurrogatesOnly) {
  const Table x(2, 1, {0, 1});
  const auto constant = [](double first, double others) {
    return [=, calls = 0](const Table&, const Table&, const Table&) mutable { return calls++ == 0 ? first : others; };
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(permutation_significance(x, x, {}, constant(kInfinity, kInfinity), 9, 1).p_value, 1);
  EXPECT_EQ(permutation_significance(x, x, {}, constant(kInfinity, 3), 9, 1).p_value, .1);
}

TEST(Extremes, RenyiEntropyIsSmoothAtOrderOne) {
  const std::vector<double> p = {.5, .25, .25};
  const double shannon = entropy(p);
  double variance = -shannon * shannon;  // of -log p; dH_a/da at 1 is -variance / 2
  for (double x : p) variance += x * std::log(x) * std::log(x);
  for (double step : {1e-6, 1e-9, 1e-12, -1e-9})
    EXPECT_NEAR(renyi_entropy(p, 1 + step), shannon - step * variance / 2, 1e-12) << step;
  EXPECT_NEAR(renyi_entropy(p, 1.1 - 1e-13), renyi_entropy(p, 1.1 + 1e-13), 1e-12);
}

TEST(Extremes, InputsTooRareForACodeKeepARowOfProbabilities) {
  const bottleneck::Problem problem(Table{{.5, 0}, {0, .5 - 1e-13}, {0, 1e-13}});
  const Table identity{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const Table fewer = bottleneck::compact(problem, identity, 1e-7);
  for (std::size_t x = 0; x < fewer.rows; ++x) {
    double sum = 0;
    for (double q : fewer.row(x)) sum += q;
    EXPECT_EQ(sum, 1) << x;
  }
}

TEST(Extremes, ShapesThatAreALieAreRefused) {
  const Table lie(2, 2, {1.0});
  EXPECT_THROW(mutual_information(lie), Error);
  EXPECT_THROW(conditional_entropy(lie), Error);
  EXPECT_THROW(jensen_shannon(lie), Error);
  const Variables first = {0};
  EXPECT_THROW((Joint{{2, 2}, {1.0}}.marginal(first)), Error);
  EXPECT_THROW((Joint{{0}, {1.0}}.marginal(first)), Error);
  EXPECT_THROW(co_information(Joint{{2}, {.5, .5}}, std::vector<Variables>(64, Variables{0})), Error);
}

TEST(Extremes, CountsAndAlphabetsBeyondNumbersAreRefused) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(entropy_from_counts(std::vector<std::int64_t>{kMost, 1}), Error);
  EXPECT_THROW(mutual_information_from_counts(Table(2, 2, 0x1p53)), Error);
  InformationOptions options;
  options.estimator = InformationEstimator::discrete;
  Table wide(8, 1100);  // an alphabet of 2^1100 rows
  for (std::size_t i = 0; i < wide.values.size(); ++i) wide.values[i] = static_cast<double>((i * i / 7) % 2);
  EXPECT_TRUE(std::isfinite(estimate_correlation(wide, options).total));
  for (EntropyEstimator estimator : {EntropyEstimator::james_stein, EntropyEstimator::nsb}) {
    options.entropy = estimator;
    EXPECT_THROW(estimate_correlation(wide, options), Error);
  }
}

TEST(Extremes, ACovarianceBesideNoVarianceIsNoCovariance) {
  EXPECT_THROW(gaussian_entropy(Table{{0, 1}, {1, 1}}), Error);
  EXPECT_EQ(gaussian_entropy(Table{{0, 0}, {0, 1}}), -std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace isentropic::information
