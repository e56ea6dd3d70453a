// Permutation tests and intervals: their level, power and repeatability.
#include "isentropic/information/significance.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/random.hpp"
#include "information/correlated.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/mutual_information.hpp"

namespace isentropic::information {
namespace {

double ksg(const Table& x, const Table& y, const Table& z) { return estimate_information(x, y, z); }
double gaussian(const Table& x, const Table& y, const Table& z) {
  InformationOptions options;
  options.estimator = InformationEstimator::gaussian;
  return estimate_information(x, y, z, options);
}

TEST(Permutations, DependentAndIndependent) {
  const Pair dependent = correlated(300, 1, .5, 1);
  const Significance found = permutation_significance(dependent.x, dependent.y, {}, ksg, 99, 1);
  EXPECT_DOUBLE_EQ(found.p_value, .01);  // the smallest value possible with 99 permutations
  EXPECT_EQ(found.estimate, ksg(dependent.x, dependent.y, {}));
  EXPECT_NEAR(found.surrogate_mean, 0, .03);
  EXPECT_GT(found.surrogate_deviation, .005);
}

// A measure that reads its results from a list.
InformationMeasure reading(std::vector<double> values) {
  return [values = std::move(values), at = std::size_t{0}](const Table&, const Table&, const Table&) mutable {
    return values.at(at++);
  };
}

// The estimate comes first: 2 among 1, 2, 3, 6.
TEST(Permutations, ByHand) {
  const Table x{{0}, {1}};
  const Significance found = permutation_significance(x, x, {}, reading({2, 1, 2, 3, 6}), 4, 1);
  EXPECT_DOUBLE_EQ(found.p_value, 4.0 / 5);
  EXPECT_DOUBLE_EQ(found.surrogate_mean, 3);
  EXPECT_DOUBLE_EQ(found.surrogate_deviation, std::sqrt(14.0 / 3));
}

// Rows take the x of neighbours without replacement as far as possible: few values are lost, compared with a share of
// 1/e with replacement.
TEST(Permutations, LocalSurrogatesSeldomRepeatARow) {
  Table x(300, 1), z(300, 1);
  for (std::size_t i = 0; i < 300; ++i) x(i, 0) = z(i, 0) = static_cast<double>(i);
  const auto distinct = [](const Table& a, const Table&, const Table&) {
    return static_cast<double>(std::set<double>(a.values.begin(), a.values.end()).size());
  };
  EXPECT_GT(permutation_significance(x, x, z, distinct, 20, 1).surrogate_mean, .8 * 300);
}

// Under independence p is uniform: below .1 about one in ten times.
TEST(Permutations, PValueIsUniformUnderIndependence) {
  int small = 0;
  double mean = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Pair pair = correlated(50, 1, 0, 100 + seed);
    const double p = permutation_significance(pair.x, pair.y, {}, gaussian, 39, seed).p_value;
    small += p <= .1 ? 1 : 0;
    mean += p / 200;
  }
  EXPECT_GE(small, 8);
  EXPECT_LE(small, 34);
  EXPECT_NEAR(mean, .5, .08);
}

// x <- z -> y: given z nothing is left. Freely shuffled surrogates would lose x's dependence on z too.
TEST(Permutations, GivenACommonCause) {
  int small = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(300 + seed);
    Table x(300, 1), y(300, 1), z(300, 1);
    for (std::size_t i = 0; i < 300; ++i) {
      z(i, 0) = random.normal();
      x(i, 0) = z(i, 0) + .5 * random.normal();
      y(i, 0) = z(i, 0) + .5 * random.normal();
    }
    small += permutation_significance(x, y, z, ksg, 19, seed).p_value <= .05 ? 1 : 0;
  }
  EXPECT_LE(small, 4);
  const Pair pair = correlated(300, 1, .7, 2);
  const Table apart(300, 1, Random(3).normals(300));
  EXPECT_DOUBLE_EQ(permutation_significance(pair.x, pair.y, apart, ksg, 49, 1).p_value, .02);
}

// A condition with few values: tied rows are exchanged among all of them, not among the few that a search returns.
TEST(Permutations, GivenSymbols) {
  const Pair pair = correlated(400, 1, .8, 5);
  Table z(400, 1);
  for (std::size_t i = 0; i < 400; ++i) z(i, 0) = static_cast<double>(i % 3);
  const Significance found = permutation_significance(pair.x, pair.y, z, ksg, 49, 1);
  EXPECT_DOUBLE_EQ(found.p_value, .02);
  EXPECT_NEAR(found.surrogate_mean, 0, .05);
}

// Surrogates of x depend on z as much as before, and no longer on y beyond that.
TEST(Permutations, LocalSurrogatesKeepTheCondition) {
  Random random(6);
  Table x(500, 1), y(500, 1), z(500, 1);
  for (std::size_t i = 0; i < 500; ++i) {
    z(i, 0) = random.normal();
    x(i, 0) = z(i, 0) + .5 * random.normal();
    y(i, 0) = x(i, 0) + .5 * random.normal();
  }
  const auto with_z = [](const Table& a, const Table&, const Table& c) { return gaussian(a, c, {}); };
  const Significance kept = permutation_significance(x, y, z, with_z, 20, 1);
  EXPECT_NEAR(kept.surrogate_mean, kept.estimate, .1 * kept.estimate);
  const Significance lost = permutation_significance(x, y, z, gaussian, 20, 1);
  EXPECT_LT(lost.surrogate_mean, .1 * lost.estimate);
}

// The deviation estimated from half-samples against the one over fresh data sets.
TEST(HalfSamples, DeviationAsOverFreshData) {
  double squares = 0, mean = 0, claimed = 0;
  const int sets = 60;
  std::vector<double> estimates;
  for (std::uint64_t seed = 0; seed < sets; ++seed) {
    const Pair pair = correlated(400, 1, .6, 500 + seed);
    estimates.push_back(ksg(pair.x, pair.y, {}));
    mean += estimates.back() / sets;
    if (seed < 10) claimed += half_sample_interval(pair.x, pair.y, {}, ksg, 30, .95, seed).deviation / 10;
  }
  for (double estimate : estimates) squares += (estimate - mean) * (estimate - mean) / (sets - 1);
  EXPECT_NEAR(claimed / std::sqrt(squares), 1, .35);
}

// The halves come first: 1 and 3, deviation sqrt 2, from two of five rows: times sqrt(2 / 3).
TEST(HalfSamples, ByHand) {
  const Table x{{0}, {1}, {2}, {3}, {4}};
  const Interval found = half_sample_interval(x, x, {}, reading({1, 3, 2.5}), 2, .95, 1);
  EXPECT_EQ(found.estimate, 2.5);
  EXPECT_DOUBLE_EQ(found.deviation, std::sqrt(4.0 / 3));
  EXPECT_NEAR(found.high, 2.5 + 1.959964 * std::sqrt(4.0 / 3), 1e-6);
  std::vector<std::size_t> rows;
  const auto sizes = [&](const Table& a, const Table& b, const Table& c) {
    rows.insert(rows.end(), {a.rows, b.rows, c.rows});
    return a.values == b.values && b.values == c.values ? 1.0 : 0.0;
  };
  EXPECT_EQ(half_sample_interval(x, x, x, sizes, 2, .95, 1).deviation, 0);
  EXPECT_EQ(rows, (std::vector<std::size_t>{2, 2, 2, 2, 2, 2, 5, 5, 5}));
}

TEST(HalfSamples, Interval) {
  const Pair pair = correlated(400, 1, .6, 4);
  const Interval interval = half_sample_interval(pair.x, pair.y, {}, ksg, 20, .95, 1);
  EXPECT_NEAR(interval.high - interval.low, 2 * 1.959964 * interval.deviation, 1e-6);
  EXPECT_NEAR((interval.high + interval.low) / 2, interval.estimate, 1e-12);
}

TEST(Significance, Errors) {
  const Table x{{0}, {1}, {2}, {3}};
  EXPECT_THROW(permutation_significance(x, x, {}, gaussian, 0, 1), Error);
  EXPECT_THROW(permutation_significance(x, Table{{1}}, {}, gaussian, 1, 1), Error);
  EXPECT_THROW(half_sample_interval(x, x, {}, gaussian, 1, .95, 1), Error);
  EXPECT_THROW(half_sample_interval({{0}, {1}, {2}}, {{0}, {1}, {2}}, {}, reading({1, 1, 1}), 2, .95, 1), Error);
  EXPECT_THROW(half_sample_interval(x, x, {}, gaussian, 5, 1, 1), Error);
}

}  // namespace
}  // namespace isentropic::information
