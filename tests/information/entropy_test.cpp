// Entropy from counts and from points, against closed forms and published values.
#include "isentropic/information/entropy.hpp"

#include <gtest/gtest.h>

#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <numbers>

#include "base/random.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/distribution.hpp"

namespace isentropic::information {
namespace {

using Counts = std::vector<std::int64_t>;
using enum EntropyEstimator;

double h(double p) { return -p * std::log(p); }

TEST(EntropyFromCounts, PlugInAndMillerMadowByHand) {
  EXPECT_NEAR(to_bits(entropy_from_counts(Counts{2, 1, 1}, plug_in)), 1.5, 1e-14);
  EXPECT_NEAR(entropy_from_counts(Counts{2, 0, 1, 1}, miller_madow), 1.5 * std::log(2) + 2.0 / 8, 1e-14);
  EXPECT_EQ(entropy_from_counts(Counts{5}, plug_in), 0);
}

TEST(EntropyFromCounts, JamesSteinByHand) {
  // (9, 1): sum p^2 = .82, distance to uniform .32, lambda = .18 / (9 * .32) = 1/16.
  EXPECT_NEAR(entropy_from_counts(Counts{9, 1}, james_stein), h(.875) + h(.125), 1e-14);
  // (3, 1): lambda = .375 / (3 * .125) = 1: all the way to uniform.
  EXPECT_NEAR(entropy_from_counts(Counts{3, 1}, james_stein), std::log(2), 1e-14);
  // (4, 0, 0, 0): lambda = 0, since the sample has no spread.
  EXPECT_EQ(entropy_from_counts(Counts{4, 0, 0, 0}, james_stein), 0);
  // Five cells: distance .62, lambda = 1/31, p = (136, 16, 1, 1, 1) / 155.
  const double five = h(136.0 / 155) + h(16.0 / 155) + 3 * h(1.0 / 155);
  EXPECT_NEAR(entropy_from_counts(Counts{9, 1}, james_stein, 5), five, 1e-14);
  EXPECT_NEAR(entropy_from_counts(Counts{9, 1, 0, 0, 0}, james_stein), five, 1e-14);
  EXPECT_NEAR(entropy_from_counts(Counts{1, 0}, james_stein), std::log(2), 1e-14);  // one observation says nothing
}

TEST(EntropyFromCounts, GrassbergerByHand) {
  const double g1 = -std::numbers::egamma - std::log(2), g2 = g1 + 2;
  EXPECT_NEAR(entropy_from_counts(Counts{1, 1}, grassberger), std::log(2) - g1, 1e-14);
  EXPECT_NEAR(entropy_from_counts(Counts{2, 1}, grassberger), std::log(3) - (2 * g2 + g1) / 3, 1e-14);
  EXPECT_NEAR(entropy_from_counts(Counts{3, 4}, grassberger), std::log(7) - (3 * g2 + 4 * (g2 + 2.0 / 3)) / 7, 1e-14);
  // Large counts: G(n) -> log n, with no step where the recurrence ends.
  const std::int64_t large = 1 << 20;
  EXPECT_NEAR(entropy_from_counts(Counts{large - 2, large - 2}, grassberger), std::log(2), 1e-12);
  EXPECT_NEAR(entropy_from_counts(Counts{large + 2, large + 2}, grassberger), std::log(2), 1e-12);
  // An odd count uses the G of the even one below it: log(2 (n + 1)) - log n, which exceeds log 2 by log1p(1/n).
  EXPECT_NEAR(entropy_from_counts(Counts{large + 1, large + 1}, grassberger) - std::log(2), std::log1p(0x1p-20), 1e-12);
  // Counts for which the recurrence would take days: frequencies 1/4 and 3/4.
  const std::int64_t huge = std::int64_t{1} << 50;
  EXPECT_NEAR(entropy_from_counts(Counts{huge, 3 * huge}, grassberger), std::log(4) - .75 * std::log(3), 1e-14);
}

TEST(EntropyFromCounts, ChaoShenByHand) {
  // (2, 1, 1): coverage 1/2, q = 1/4, 1/8, 1/8.
  const double expected = h(.25) / (1 - std::pow(.75, 4)) + 2 * h(.125) / (1 - std::pow(.875, 4));
  EXPECT_NEAR(entropy_from_counts(Counts{2, 1, 1}, chao_shen), expected, 1e-14);
  // No value occurs twice: coverage 1/3 instead of 0, q = 1/9.
  EXPECT_NEAR(entropy_from_counts(Counts{1, 1, 1}, chao_shen), 3 * h(1.0 / 9) / (1 - std::pow(8.0 / 9, 3)), 1e-14);
  EXPECT_EQ(entropy_from_counts(Counts{4}, chao_shen), 0);
}

// The values printed in the documentation of ndd (S. Marsili, versions 1.4 and 1.10), an implementation of NSB.
TEST(EntropyFromCounts, NsbPublishedValues) {
  const Counts twenty = {7, 3, 5, 8, 9, 1, 3, 3, 1, 0, 2, 5, 2, 11, 4, 23, 5, 0, 8, 0};
  EXPECT_NEAR(entropy_from_counts(twenty, nsb), 2.623634344888532, 1e-6);
  const Counts nineteen = {4, 12, 4, 5, 3, 1, 5, 1, 2, 2, 2, 2, 11, 3, 4, 12, 12, 1, 2};
  EXPECT_NEAR(entropy_from_counts(nineteen, nsb, 100), 2.8060922529931225, 1e-5);
}

// The extremes of data: with few observations in a large alphabet most of the prior range remains; with many, only the
// frequencies matter.
TEST(EntropyFromCounts, NsbLimits) {
  EXPECT_EQ(entropy_from_counts(Counts{7}, nsb), 0);
  EXPECT_NEAR(entropy_from_counts(Counts{500000, 250000, 250000}, nsb), 1.5 * std::log(2), 1e-5);
  EXPECT_NEAR(entropy_from_counts(Counts(50, 20000), nsb), std::log(50), 1e-4);
  const double undersampled = entropy_from_counts(Counts(20, 1), nsb, 1000);
  EXPECT_GT(undersampled, std::log(100));
  EXPECT_LT(undersampled, std::log(1000));
}

// 2000 observations in 100000 cells, 150 of which occur twice: the posterior written out, where K b is about 13000 and
// the arguments of Gamma quotients are close enough to cancel.
TEST(EntropyFromCounts, NsbOfALargeAlphabetByQuadrature) {
  const long double cells = 1e5, once = 1700, twice = 150, total = once + 2 * twice;
  long double mass = 0, sum = 0, top = 0;
  for (double t = -4; t < 0; t += 1e-3) {  // b = e^t
    const long double b = std::exp(t), all = total + cells * b;
    const long double log_likelihood =
        once * std::log(b) + twice * std::log(b * (b + 1)) + std::lgamma(cells * b) - std::lgamma(all);
    const auto kb = static_cast<double>(cells * b), one = static_cast<double>(b);
    const long double prior = b * (cells * boost::math::trigamma(kb + 1) - boost::math::trigamma(one + 1));
    const auto part = [&](int n, long double times) {
      return times * (n + b) / all * boost::math::digamma(n + one + 1);
    };
    const long double entropy = boost::math::digamma(static_cast<double>(all) + 1) - part(1, once) - part(2, twice) -
                                part(0, cells - once - twice);
    if (mass == 0) top = log_likelihood;
    const long double weight = prior * std::exp(log_likelihood - top);
    mass += weight, sum += weight * entropy;
  }
  Counts counts(1700, 1);
  counts.insert(counts.end(), 150, 2);
  EXPECT_NEAR(entropy_from_counts(counts, nsb, 100000), static_cast<double>(sum / mass), 1e-7);
}

// Each corrected estimator has at most 60% of plug-in's bias, averaged over draws of 20 from 10 cells.
class SmallSamples : public testing::TestWithParam<EntropyEstimator> {};

TEST_P(SmallSamples, LessBiasThanPlugIn) {
  Random random(5);
  double bias = 0, plug_in_bias = 0;
  const int draws = 400;
  for (int draw = 0; draw < draws; ++draw) {
    const std::vector<double> p = random.probabilities(10);
    Counts counts(10, 0);
    for (int i = 0; i < 20; ++i) {
      double u = random.uniform();
      std::size_t cell = 0;
      while (cell < 9 && u >= p[cell]) u -= p[cell++];
      ++counts[cell];
    }
    bias += (entropy_from_counts(counts, GetParam()) - entropy(p)) / draws;
    plug_in_bias += (entropy_from_counts(counts, plug_in) - entropy(p)) / draws;
  }
  EXPECT_LT(plug_in_bias, -.1);
  EXPECT_LT(std::abs(bias), .6 * std::abs(plug_in_bias));
}

INSTANTIATE_TEST_SUITE_P(All, SmallSamples, testing::Values(miller_madow, james_stein, grassberger, chao_shen, nsb),
                         [](const auto& tested) { return name(tested.param); });

TEST(EntropyFromCounts, Names) {
  for (EntropyEstimator estimator : entropy_estimators())
    EXPECT_EQ(entropy_estimator_named(name(estimator)), estimator);
  EXPECT_THROW(entropy_estimator_named("best"), Error);
}

TEST(EntropyFromCounts, Symbols) {
  EXPECT_NEAR(entropy_from_symbols(Table{{0, 1}, {0, 1}, {1, 0}, {1, 1}}, plug_in), 1.5 * std::log(2), 1e-14);
}

TEST(EntropyFromCounts, Errors) {
  EXPECT_THROW(entropy_from_counts(Counts{}, plug_in), Error);
  EXPECT_THROW(entropy_from_counts(Counts{0, 0}, plug_in), Error);
  EXPECT_THROW(entropy_from_counts(Counts{1, -1}, plug_in), Error);
  EXPECT_THROW(entropy_from_counts(Counts{1, 1, 1}, nsb, 2), Error);
}

Table normals(std::size_t rows, std::size_t columns, double scale, std::uint64_t seed) {
  return Table(rows, columns, Random(seed).normals(rows * columns, scale));
}

TEST(DifferentialEntropy, GaussianClosedForm) {
  const double unit = std::log(2 * std::numbers::pi * std::numbers::e) / 2;
  EXPECT_NEAR(gaussian_entropy(Table{{1}}), unit, 1e-14);
  EXPECT_NEAR(gaussian_entropy(Table{{1, .6}, {.6, 1}}), 2 * unit + std::log(.8), 1e-14);
  EXPECT_NEAR(gaussian_entropy(Table{{1e-4}}), unit - 2 * std::log(10), 1e-13);  // negative
  EXPECT_EQ(gaussian_entropy(Table{{1, 1}, {1, 1}}), -std::numeric_limits<double>::infinity());
  EXPECT_THROW(gaussian_entropy(Table{{1, 2}, {2, 1}}), Error);
  EXPECT_THROW(gaussian_entropy(Table{{1, .5}, {.4, 1}}), Error);
  EXPECT_NEAR(gaussian_entropy_from_samples(normals(20000, 2, 3, 1)), 2 * (unit + std::log(3)), .02);
  EXPECT_NEAR(gaussian_entropy_from_samples({{-1}, {1}}), unit + std::log(2) / 2, 1e-14);  // variance 2 / (2 - 1)
}

TEST(DifferentialEntropy, KozachenkoLeonenko) {
  const double unit = std::log(2 * std::numbers::pi * std::numbers::e) / 2;
  EXPECT_NEAR(kozachenko_leonenko_entropy(normals(20000, 1, 1, 2)), unit, .03);
  EXPECT_NEAR(kozachenko_leonenko_entropy(normals(20000, 2, .01, 3), 4), 2 * (unit + std::log(.01)), .05);
  Random random(4);
  Table uniform(20000, 1);
  for (double& x : uniform.values) x = random.uniform(0, .5);
  EXPECT_NEAR(kozachenko_leonenko_entropy(uniform), -std::log(2), .03);
  // Two points at distance 1/2, k = 1: digamma(2) - digamma(1) + log 1 = 1.
  EXPECT_NEAR(kozachenko_leonenko_entropy(Table{{0}, {.5}}, 1), 1, 1e-14);
  EXPECT_THROW(kozachenko_leonenko_entropy(Table{{0}, {.5}}, 2), Error);
}

}  // namespace
}  // namespace isentropic::information
