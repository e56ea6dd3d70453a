// Each estimator of mutual information against a closed form; conditional forms; results in edge cases.
#include "isentropic/information/mutual_information.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"
#include "information/correlated.hpp"
#include "information/options.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/distribution.hpp"

namespace isentropic::information {
namespace {

using enum EntropyEstimator;
using Estimator = InformationEstimator;

double gaussian_truth(double rho) { return -std::log(1 - rho * rho) / 2; }

// ---- Discrete ----

// The same 100 pairs as a table of counts and as samples; then with cells that never occur.
TEST(DiscreteInformation, CountsAndSamplesAgree) {
  const Table counts{{30, 10, 5}, {5, 20, 30}};
  for (const Table& table : {counts, Table{{50, 10, 0}, {0, 0, 40}}}) {
    Pair samples{Table(100, 1), Table(100, 1)};
    std::size_t row = 0;
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        for (int n = 0; n < table(i, j); ++n, ++row) {
          samples.x(row, 0) = static_cast<double>(i) * 7;
          samples.y(row, 0) = -static_cast<double>(j);
        }
    for (EntropyEstimator estimator : entropy_estimators())
      EXPECT_NEAR(mutual_information_from_counts(table, estimator),
                  discrete_mutual_information(samples.x, samples.y, estimator), 1e-12)
          << name(estimator);
  }
  Table p = counts;
  for (double& value : p.values) value /= 100;
  EXPECT_NEAR(mutual_information_from_counts(counts, plug_in), mutual_information(p), 1e-14);
  // Miller-Madow: (2 - 1 + 3 - 1 - (6 - 1)) / 200 below plug-in.
  EXPECT_NEAR(mutual_information_from_counts(counts, miller_madow), mutual_information(p) - 2.0 / 200, 1e-14);
}

// (9, 0; 0, 1): sum p^2 = .82, distance to uniform .57, lambda = .18 / (9 * .57) = 2/57, p = (0.5 + 49.5, .5, .5, 6)
// / 57.
TEST(DiscreteInformation, JamesSteinByHand) {
  const double a = 50.0 / 57, b = .5 / 57, c = 6.0 / 57;
  const double expected = a * std::log(a / ((a + b) * (a + b))) + 2 * b * std::log(b / ((a + b) * (b + c))) +
                          c * std::log(c / ((b + c) * (b + c)));
  EXPECT_NEAR(mutual_information_from_counts({{9, 0}, {0, 1}}, james_stein), expected, 1e-14);
}

TEST(DiscreteInformation, CopyHasTheWholeEntropy) {
  const Table x{{0}, {1}, {0}, {1}};
  EXPECT_NEAR(discrete_mutual_information(x, x, plug_in), std::log(2), 1e-15);
}

// Independent symbols, 40 observations, 4 x 4 cells: the truth is 0, plug-in gives about (3 * 3) / 80 = .11.
TEST(DiscreteInformation, LessBiasThanPlugIn) {
  for (EntropyEstimator estimator : {miller_madow, james_stein, grassberger, chao_shen, nsb}) {
    Random random(3);
    double mean = 0, plug_in_mean = 0;
    for (int draw = 0; draw < 200; ++draw) {
      Table counts(4, 4);
      for (int i = 0; i < 40; ++i)
        ++counts(static_cast<std::size_t>(random.integer(0, 3)), static_cast<std::size_t>(random.integer(0, 3)));
      mean += mutual_information_from_counts(counts, estimator) / 200;
      plug_in_mean += mutual_information_from_counts(counts, plug_in) / 200;
    }
    EXPECT_GT(plug_in_mean, .09);
    EXPECT_LT(std::abs(mean), plug_in_mean * .75) << name(estimator);
  }
}

// XOR of two fair bits: nothing without the third, one bit with it.
TEST(DiscreteInformation, XorGivenTheThird) {
  const Table x{{0}, {0}, {1}, {1}}, y{{0}, {1}, {0}, {1}}, z{{0}, {1}, {1}, {0}};
  InformationOptions options = with(Estimator::discrete);
  options.entropy = plug_in;
  EXPECT_NEAR(estimate_information(x, y, options), 0, 1e-15);
  EXPECT_NEAR(to_bits(estimate_information(x, y, z, options)), 1, 1e-15);
  options.entropy = james_stein;  // four of eight cells occur once: all the way to uniform, 2 + 2 - 3 - 1 bits
  EXPECT_NEAR(estimate_information(x, y, z, options), 0, 1e-14);
}

TEST(DiscreteInformation, Errors) {
  EXPECT_THROW(mutual_information_from_counts(Table{{1, .5}}), Error);
  EXPECT_THROW(mutual_information_from_counts(Table{{1, -1}}), Error);
  EXPECT_THROW(mutual_information_from_counts(Table{{0, 0}}), Error);
  EXPECT_THROW(discrete_mutual_information(Table{{1}, {2}}, Table{{1}}), Error);
}

// ---- Gaussian ----

TEST(GaussianInformation, ClosedForm) {
  EXPECT_NEAR(gaussian_mutual_information(Table{{1, .75}, {.75, 1}}, 1), .413339, 1e-6);
  // Units do not matter.
  EXPECT_NEAR(gaussian_mutual_information(Table{{1e-12, .75e-3}, {.75e-3, 1e6}}, 1), gaussian_truth(.75), 1e-12);
  // x (2 columns) and y with correlations .6 and 0 to y.
  EXPECT_NEAR(gaussian_mutual_information(Table{{1, 0, .6}, {0, 1, 0}, {.6, 0, 1}}, 2), gaussian_truth(.6), 1e-14);
  EXPECT_EQ(gaussian_mutual_information(Table{{1, 1}, {1, 1}}, 1), std::numeric_limits<double>::infinity());
  EXPECT_THROW(gaussian_mutual_information(Table{{1, 1, 0}, {1, 1, 0}, {0, 0, 1}}, 2), Error);
  EXPECT_THROW(gaussian_mutual_information(Table{{1, 0}, {0, 1}}, 2), Error);
}

TEST(GaussianInformation, FromSamples) {
  const Pair pair = correlated(20000, 2, .75, 4);
  EXPECT_NEAR(gaussian_mutual_information_from_samples(pair.x, pair.y), 2 * gaussian_truth(.75), .02);
}

// ---- Binned ----

TEST(Binned, IntervalsByHand) {
  const Table column{{0}, {1}, {2}, {3}, {10}};
  EXPECT_EQ(binned(column, 5, Binning::equal_width).values, (std::vector<double>{0, 0, 1, 1, 4}));
  EXPECT_EQ(binned(column, 5, Binning::equal_mass).values, (std::vector<double>{0, 1, 2, 3, 4}));
  EXPECT_EQ(binned(Table{{1}, {1}, {1}, {5}}, 2, Binning::equal_mass).values, (std::vector<double>{0, 0, 0, 1}));
  EXPECT_EQ(usual_bins(1000), 10);
  EXPECT_EQ(usual_bins(1), 2);
  // (0, 1, 2, 100) in two intervals: three and one by width, two and two by mass.
  const Table skewed{{0}, {1}, {2}, {100}};
  InformationOptions options = with(Estimator::binned);
  options.bins = 2;
  options.entropy = plug_in;
  EXPECT_NEAR(estimate_information(skewed, skewed, options), 2 * std::log(2) - .75 * std::log(3), 1e-14);
  options.estimator = Estimator::equal_mass;
  EXPECT_NEAR(estimate_information(skewed, skewed, options), std::log(2), 1e-14);
  options.bins = 4;  // one each
  EXPECT_NEAR(estimate_information(skewed, skewed, options), std::log(4), 1e-14);
  // 27 values, as many as their rank: three intervals of nine.
  Table ranks(27, 1);
  for (std::size_t i = 0; i < 27; ++i) ranks(i, 0) = static_cast<double>(i);
  EXPECT_NEAR(binned_mutual_information(ranks, ranks, 0, Binning::equal_mass, plug_in), std::log(3), 1e-14);
}

TEST(Binned, Gaussian) {
  const Pair pair = correlated(50000, 1, .75, 5);
  // Cutting loses information: a little less than the truth.
  for (Binning binning : {Binning::equal_width, Binning::equal_mass}) {
    const double estimate = binned_mutual_information(pair.x, pair.y, 20, binning);
    EXPECT_LT(estimate, gaussian_truth(.75));
    EXPECT_NEAR(estimate, gaussian_truth(.75), .03);
  }
}

// ---- Mixed: y = label plus a uniform number ----

// Labels 0 ... m - 1, y ~ U(label, label + 2): I = log m - (m - 1) log 2 / m (Gao et al. 2017, experiment I).
TEST(MixedInformation, OverlappingUniforms) {
  Random random(6);
  const int labels = 5;
  Table x(5000, 1), y(5000, 1);
  for (std::size_t i = 0; i < x.rows; ++i) {
    x(i, 0) = static_cast<double>(random.integer(0, labels - 1));
    y(i, 0) = x(i, 0) + random.uniform(0, 2);
  }
  const double truth = std::log(labels) - (labels - 1) * std::log(2) / labels;
  EXPECT_NEAR(mixed_mutual_information(x, y), truth, .03);
  EXPECT_EQ(estimate_information(x, y, with(Estimator::mixed)), mixed_mutual_information(x, y));
  EXPECT_EQ(estimate_information(y, x, with(Estimator::mixed)), mixed_mutual_information(x, y));
  EXPECT_NEAR(mixed_mutual_information(x, beside(y, y), 3), truth, .03);
}

// k = 1. Only the neighbour itself is within its distance, apart or at the same point: digamma(4) - digamma(2) = 5/6.
TEST(MixedInformation, ByHand) {
  const Table x{{0}, {0}, {1}, {1}};
  EXPECT_NEAR(mixed_mutual_information(x, {{0}, {1}, {5}, {7}}, 1, Scaling::none), 5.0 / 6, 1e-14);
  EXPECT_NEAR(mixed_mutual_information(x, {{0}, {0}, {5}, {5}}, 1, Scaling::none), 5.0 / 6, 1e-14);
  EXPECT_NEAR(mixed_mutual_information(x, {{0}, {1}, {5}, {7}}, 3, Scaling::none), 5.0 / 6, 1e-14);  // k_i = 1 of two
  // k = 2, interleaved: within the distance of the second neighbour of the same symbol lie 3, 3, 3, 5, 4, 4 points.
  // With h(n) = 1 + ... + 1/n the result is h(5) + h(1) - h(2) minus 41/24, the mean of h(m - 1).
  const Table symbols{{0}, {0}, {0}, {1}, {1}, {1}}, points{{0}, {2}, {4}, {1}, {20}, {30}};
  EXPECT_NEAR(mixed_mutual_information(symbols, points, 2, Scaling::none), 137.0 / 60 + 1 - 1.5 - 41.0 / 24, 1e-14);
}

TEST(MixedInformation, SymbolsMetOnce) {
  Random random(7);
  Table x(200, 1), y(200, 1);
  for (std::size_t i = 0; i < 200; ++i) {
    x(i, 0) = static_cast<double>(i % 2);
    y(i, 0) = random.normal();
  }
  x(0, 0) = 17;  // only this row is omitted
  const Table others_x(199, 1, {x.values.begin() + 1, x.values.end()});
  const Table others_y(199, 1, {y.values.begin() + 1, y.values.end()});
  EXPECT_EQ(mixed_mutual_information(x, y, 3, Scaling::none),
            mixed_mutual_information(others_x, others_y, 3, Scaling::none));
  EXPECT_THROW(mixed_mutual_information(y, y), Error);
}

// ---- Nearest neighbours ----

// Four points on a line, k = 1, no scaling, by hand. Algorithm 1: eps = 1 everywhere, nothing strictly nearer:
// digamma(1) + digamma(4) - 2 digamma(1) = 11/6. Algorithm 2: inner points see 2, outer 1 in each marginal:
// digamma(1) - 1 + digamma(4) - 2 * (digamma(1) + digamma(2)) / 2 = 11/6 - 2.
TEST(Ksg, ByHand) {
  const Table x{{0}, {1}, {2}, {3}};
  EXPECT_NEAR(ksg_mutual_information(x, x, {1, KsgAlgorithm::one, Scaling::none}), 11.0 / 6, 1e-14);
  EXPECT_NEAR(ksg_mutual_information(x, x, {1, KsgAlgorithm::two, Scaling::none}), 11.0 / 6 - 2, 1e-14);
  InformationOptions options = with(Estimator::ksg2);
  options.k = 1;
  options.scaling = Scaling::none;
  EXPECT_NEAR(estimate_information(x, x, options), 11.0 / 6 - 2, 1e-14);
  // Given a copy of itself nothing is left: digamma(1) - (1 + 1 - 1) digamma(1). Given a constant, everything is left:
  // the digamma(4) comes from n_z = 3.
  const Table constant(4, 1, 1.0);
  EXPECT_NEAR(ksg_conditional_mutual_information(x, x, x, {1, KsgAlgorithm::one, Scaling::none}), 0, 1e-14);
  EXPECT_NEAR(ksg_conditional_mutual_information(x, x, constant, {1, KsgAlgorithm::one, Scaling::none}), 11.0 / 6,
              1e-14);
}

TEST(Ksg, NegativeEstimatesAreReturned) {
  int negative = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Pair pair = correlated(500, 1, 0, seed);
    negative += ksg_mutual_information(pair.x, pair.y) < 0 ? 1 : 0;
  }
  EXPECT_GE(negative, 4);
  EXPECT_LE(negative, 16);
}

TEST(Ksg, TheSameOnAnyNumberOfThreads) {
  const Pair pair = correlated(3000, 1, .5, 8);
  FixedThreads three(3);
  EXPECT_EQ(ksg_mutual_information(pair.x, pair.y, {}, serial_executor()),
            ksg_mutual_information(pair.x, pair.y, {}, three));
}

TEST(Ksg, UnitsDoNotMatterWhenStandardised) {
  Pair pair = correlated(1000, 1, .5, 9);
  const double before = ksg_mutual_information(pair.x, pair.y);
  for (double& x : pair.x.values) x = 1024 * x;
  EXPECT_EQ(ksg_mutual_information(pair.x, pair.y), before);
}

// x <- z -> y: dependent, but not given z. x -> y with a separate z: unchanged given z.
TEST(Ksg, ConditionalOnACommonCause) {
  Random random(10);
  const std::size_t rows = 5000;
  Table x(rows, 1), y(rows, 1), z(rows, 1), apart(rows, 1);
  for (std::size_t i = 0; i < rows; ++i) {
    z(i, 0) = random.normal();
    x(i, 0) = z(i, 0) + random.normal();
    y(i, 0) = z(i, 0) + random.normal();
    apart(i, 0) = random.normal();
  }
  const double joint = gaussian_truth(.5);  // correlation of x and y
  for (Estimator estimator : {Estimator::ksg1, Estimator::gaussian}) {
    SCOPED_TRACE(name(estimator));
    EXPECT_NEAR(estimate_information(x, y, with(estimator)), joint, .03);
    EXPECT_NEAR(estimate_information(x, y, z, with(estimator)), 0, .03);
    EXPECT_NEAR(estimate_information(x, y, apart, with(estimator)), joint, .03);
  }
}

// Three Gaussians: I(x;y|z) = -log(1 - r^2) / 2 with the partial correlation r.
TEST(Ksg, ConditionalGaussian) {
  Random random(11);
  const std::size_t rows = 10000;
  Table x(rows, 1), y(rows, 1), z(rows, 1);
  for (std::size_t i = 0; i < rows; ++i) {
    x(i, 0) = random.normal();
    y(i, 0) = random.normal();
    z(i, 0) = x(i, 0) + y(i, 0) + random.normal();  // given the sum, the summands are dependent
  }
  const double partial = .5;  // covariance -1/3 over variance 2/3 given z
  for (Estimator estimator : {Estimator::ksg1, Estimator::gaussian})
    EXPECT_NEAR(estimate_information(x, y, z, with(estimator)), gaussian_truth(partial), .03) << name(estimator);
}

TEST(Ksg, Errors) {
  const Table x{{0}, {1}, {2}}, constant{{1}, {1}, {1}}, nan{{0}, {NAN}, {1}};
  EXPECT_THROW(ksg_mutual_information(x, x, {3, KsgAlgorithm::one, Scaling::none}), Error);
  EXPECT_THROW(ksg_mutual_information(x, x, {0, KsgAlgorithm::one, Scaling::none}), Error);
  EXPECT_THROW(ksg_mutual_information(x, constant, {1, KsgAlgorithm::one, Scaling::standardised}), Error);
  EXPECT_THROW(ksg_mutual_information(x, nan, {1, KsgAlgorithm::one, Scaling::none}), Error);
  EXPECT_THROW(ksg_mutual_information(x, Table{{1}, {2}}, {1, KsgAlgorithm::one, Scaling::none}), Error);
  EXPECT_THROW(ksg_mutual_information(Table{}, Table{}), Error);
  EXPECT_THROW(estimate_information(x, x, x, with(Estimator::ksg2)), Error);
  EXPECT_THROW(estimate_information(x, x, x, with(Estimator::mixed)), Error);
}

}  // namespace
}  // namespace isentropic::information
