// The automatic choice of an estimator, and when estimates are called doubtful.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/random.hpp"
#include "information/correlated.hpp"
#include "information/options.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/mutual_information.hpp"

namespace isentropic::information {
namespace {

using Estimator = InformationEstimator;

TEST(SuitableEstimator, ByTheNumberOfDistinctRows) {
  const Pair pair = correlated(1000, 1, .5, 12);
  Table labels(1000, 1);
  for (std::size_t i = 0; i < 1000; ++i) labels(i, 0) = static_cast<double>(i % 3);
  EXPECT_EQ(suitable_estimator(pair.x, pair.y), Estimator::ksg1);
  EXPECT_EQ(suitable_estimator(labels, pair.y), Estimator::mixed);
  EXPECT_EQ(suitable_estimator(labels, labels), Estimator::discrete);
  EXPECT_EQ(suitable_estimator(pair.x, pair.y, pair.x), Estimator::ksg1);
  EXPECT_EQ(suitable_estimator(labels, labels, labels), Estimator::discrete);
  const Table nine{{0}, {0}, {0}, {1}, {1}, {1}, {2}, {2}, {2}};  // exactly sqrt(N) symbols
  EXPECT_EQ(suitable_estimator(nine, nine), Estimator::discrete);
  for (Estimator estimator : information_estimators())
    EXPECT_EQ(information_estimator_named(name(estimator)), estimator);
  EXPECT_THROW(information_estimator_named("best"), Error);
}

// Cycles through `distinct` values: all different if there are as many rows.
Table counting(std::size_t rows, std::size_t columns, std::size_t distinct) {
  Table out(rows, columns);
  for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] = static_cast<double>(i / columns % distinct);
  return out;
}

// Both sides of every limit.
TEST(InformationWarnings, BeginWhereTheHeaderSays) {
  const auto warned = [](const Table& x, const Table& y, const Table& z, Estimator estimator, double estimate) {
    return !information_warnings(x, y, z, with(estimator), estimate).empty();
  };
  // log 1000 = 6.9 columns; 10 e^4.6 = 995 and 10 e^4.62 = 1015 samples.
  const Table y = counting(1000, 1, 1000);
  EXPECT_FALSE(warned(counting(1000, 5, 1000), y, {}, Estimator::ksg1, 0));
  EXPECT_TRUE(warned(counting(1000, 6, 1000), y, {}, Estimator::ksg1, 0));
  EXPECT_FALSE(warned(y, y, {}, Estimator::ksg1, 4.6));
  EXPECT_TRUE(warned(y, y, {}, Estimator::ksg1, 4.62));
  // 50 and 52 of 1000 values that occur more than once, in each table that is searched for neighbours.
  Table half(1000, 1);
  for (std::size_t i = 0; i < 1000; ++i) half(i, 0) = static_cast<double>(i % 2);
  for (const std::size_t pairs : {25, 26}) {
    const Table tied = counting(1000, 1, 1000 - pairs);
    EXPECT_EQ(warned(tied, y, {}, Estimator::ksg1, 0), pairs == 26);
    EXPECT_EQ(warned(y, tied, {}, Estimator::ksg2, 0), pairs == 26);
    EXPECT_EQ(warned(y, y, tied, Estimator::ksg1, 0), pairs == 26);
    EXPECT_FALSE(warned(half, tied, {}, Estimator::mixed, 0));  // it handles ties
    EXPECT_FALSE(warned(tied, tied, tied, Estimator::mesner_shalizi, 0));
  }
  // 5 x 5 cells: a bias of 16 / (2 N), .1 at N = 80; twice that for two values of z.
  EXPECT_FALSE(warned(counting(80, 1, 5), counting(80, 1, 5), {}, Estimator::discrete, 0));
  EXPECT_TRUE(warned(counting(79, 1, 5), counting(79, 1, 5), {}, Estimator::discrete, 0));
  EXPECT_TRUE(warned(counting(80, 1, 5), counting(80, 1, 5), counting(80, 1, 2), Estimator::discrete, 0));
  // Ten rows per column.
  EXPECT_FALSE(warned(counting(20, 1, 20), counting(20, 1, 20), {}, Estimator::gaussian, 0));
  EXPECT_TRUE(warned(counting(19, 1, 19), counting(19, 1, 19), {}, Estimator::gaussian, 0));
}

// Either side of 5% of values that occur more than once, in any of the three.
TEST(SuitableEstimator, CountsTies) {
  const Table y = counting(1000, 1, 1000), labels = counting(1000, 1, 3);
  for (const std::size_t pairs : {25, 26}) {
    const Table tied = counting(1000, 1, 1000 - pairs);
    const Estimator expected = pairs == 26 ? Estimator::mesner_shalizi : Estimator::ksg1;
    EXPECT_EQ(suitable_estimator(tied, y), expected);
    EXPECT_EQ(suitable_estimator(y, tied), expected);
    EXPECT_EQ(suitable_estimator(y, y, tied), expected);
  }
  EXPECT_EQ(suitable_estimator(labels, labels, y), Estimator::mesner_shalizi);
  EXPECT_EQ(suitable_estimator(y, y, labels), Estimator::mesner_shalizi);
}

// Sixteen correlated pairs of dimensions: the truth is 2.30, of which KSG sees less than half.
TEST(InformationWarnings, HighDimension) {
  Pair pair = correlated(5000, 16, 0, 13);
  const double rho = std::sqrt(1 - std::exp(-2 * 2.30 / 16));
  Random random(14);
  for (std::size_t i = 0; i < pair.x.values.size(); ++i)
    pair.y.values[i] = rho * pair.x.values[i] + std::sqrt(1 - rho * rho) * random.normal();
  const double estimate = estimate_information(pair.x, pair.y);
  EXPECT_LT(estimate, 2.30 / 2);
  EXPECT_GT(estimate, .4);
  const auto warnings = information_warnings(pair.x, pair.y, {}, {}, estimate);
  ASSERT_FALSE(warnings.empty());
  EXPECT_NE(warnings[0].find("high dimension"), std::string::npos);
}

TEST(InformationWarnings, SaturationTiesAndCells) {
  const Pair pair = correlated(1000, 1, .5, 15);
  EXPECT_TRUE(information_warnings(pair.x, pair.y, {}, {}, estimate_information(pair.x, pair.y)).empty());
  const double copy = estimate_information(pair.x, pair.x);  // the truth is infinite
  EXPECT_NE(information_warnings(pair.x, pair.x, {}, {}, copy).at(0).find("few samples"), std::string::npos);
  Table rounded = pair.x;
  for (double& x : rounded.values) x = std::round(10 * x);
  EXPECT_NE(information_warnings(rounded, pair.y, {}, {}, .1).at(0).find("ties"), std::string::npos);
  EXPECT_NE(information_warnings(pair.x, pair.y, {}, with(Estimator::discrete), 1).at(0).find("cells"),
            std::string::npos);
}

}  // namespace
}  // namespace isentropic::information
