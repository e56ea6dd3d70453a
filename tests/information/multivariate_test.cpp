// Total and dual total correlation of distributions with known values.
#include "isentropic/information/multivariate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "information/options.hpp"
#include "isentropic/error.hpp"

namespace isentropic::information {
namespace {

using Estimator = InformationEstimator;

InformationOptions with_plug_in(Estimator estimator) {
  InformationOptions out = with(estimator);
  out.entropy = EntropyEstimator::plug_in;
  return out;
}

TEST(TotalCorrelation, SymbolsByHand) {
  // XOR triple: TC = 1 bit, DTC = 2 bits; four copies of a bit: TC = 3, DTC = 1.
  const Table parity{{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}}, copies{{0, 0, 0, 0}, {1, 1, 1, 1}};
  const Correlation of_parity = estimate_correlation(parity, with_plug_in(Estimator::discrete));
  EXPECT_NEAR(of_parity.total, kBit, 1e-14);
  EXPECT_NEAR(of_parity.dual_total, 2 * kBit, 1e-14);
  const Correlation of_copies = estimate_correlation(copies, with_plug_in(Estimator::discrete));
  EXPECT_NEAR(of_copies.total, 3 * kBit, 1e-14);
  EXPECT_NEAR(of_copies.dual_total, kBit, 1e-14);
}

// Unseen cells count: with four of the eight rows that three bits can form, the estimate shrinks to uniform.
TEST(TotalCorrelation, AlphabetsAndIntervalsByHand) {
  InformationOptions shrinking = with_plug_in(Estimator::discrete);
  shrinking.entropy = EntropyEstimator::james_stein;
  EXPECT_NEAR(estimate_correlation({{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}}, shrinking).total, 0, 1e-14);
  // Two intervals: three and one by width, two and two by mass.
  const Table skewed{{0, 0}, {1, 1}, {2, 2}, {100, 100}};
  InformationOptions by_width = with_plug_in(Estimator::binned), by_mass = with_plug_in(Estimator::equal_mass);
  by_width.bins = by_mass.bins = 2;
  EXPECT_NEAR(estimate_correlation(skewed, by_width).total, 2 * kBit - .75 * std::log(3), 1e-14);
  EXPECT_NEAR(estimate_correlation(skewed, by_mass).total, kBit, 1e-14);
  by_mass.bins = 4;
  EXPECT_NEAR(estimate_correlation(skewed, by_mass).total, 2 * kBit, 1e-14);
}

// Three normals with all correlations r: det = (1 - r)^2 (1 + 2 r), pairs 1 - r^2.
TEST(TotalCorrelation, Gaussian) {
  const double r = .5, triple = std::log((1 - r) * (1 - r) * (1 + 2 * r)), pair = std::log(1 - r * r);
  Random random(1);
  Table samples(20000, 3);
  for (std::size_t i = 0; i < samples.rows; ++i) {
    const double common = random.normal();
    for (std::size_t c = 0; c < 3; ++c) samples(i, c) = std::sqrt(r) * common + std::sqrt(1 - r) * random.normal();
  }
  for (Estimator estimator : {Estimator::gaussian, Estimator::ksg1}) {
    SCOPED_TRACE(name(estimator));
    const Correlation found = estimate_correlation(samples, with_plug_in(estimator));
    EXPECT_NEAR(found.total, -triple / 2, .03);
    EXPECT_NEAR(found.dual_total, (3 * pair - 2 * triple) / 2, .03);
  }
  const CorrelationReport report = correlation_with_baselines(samples, with_plug_in(Estimator::ksg1), 1);
  EXPECT_NEAR(report.resampled_positions.total, 0, .03);
  EXPECT_NEAR(report.shuffled_order.total, report.observed.total, .03);  // already exchangeable
}

TEST(TotalCorrelation, TwoColumnsAreMutualInformation) {
  Random random(2);
  Table x(2000, 1), y(2000, 1);
  for (std::size_t i = 0; i < 2000; ++i) {
    x(i, 0) = random.normal();
    y(i, 0) = x(i, 0) + random.normal();
  }
  const Correlation found = estimate_correlation(beside(x, y));
  EXPECT_NEAR(found.total, ksg_mutual_information(x, y), 1e-12);
  EXPECT_NEAR(found.dual_total, ksg_mutual_information(x, y), 1e-12);
}

// The two shuffles answer different questions.
TEST(Shuffles, ConstantRow) {
  Table samples(4000, 2);
  for (std::size_t r = 0; r < samples.rows; ++r) samples(r, 1) = 1;  // always (0, 1)
  EXPECT_NEAR(order_information(samples), kBit, 1e-12);
  EXPECT_EQ(with_resampled_positions(samples, 1).values, samples.values);
  const CorrelationReport report = correlation_with_baselines(samples, with_plug_in(Estimator::discrete), 1);
  EXPECT_NEAR(report.observed.total, 0, 1e-14);
  EXPECT_NEAR(report.shuffled_order.total, kBit, .01);  // (0, 1) or (1, 0): one column determines the other
}

TEST(Shuffles, TwoCopies) {
  Table samples(4000, 2);
  for (std::size_t r = 0; r < samples.rows; ++r) samples(r, 0) = samples(r, 1) = r % 2 == 0 ? 0 : 1;
  EXPECT_NEAR(order_information(samples), 0, 1e-12);
  const CorrelationReport report = correlation_with_baselines(samples, with_plug_in(Estimator::discrete), 1);
  EXPECT_NEAR(report.observed.total, kBit, 1e-14);
  EXPECT_NEAR(report.resampled_positions.total, 0, .01);
  EXPECT_NEAR(report.shuffled_order.total, kBit, 1e-14);
}

// KL to the exchangeable mixture, summed over all 3! orders.
TEST(Shuffles, OrderInformationAsByEnumeration) {
  Random random(4);
  Table samples(300, 3);
  for (std::size_t r = 0; r < samples.rows; ++r)
    for (std::size_t c = 0; c < 3; ++c) samples(r, c) = random.uniform() < .2 + .2 * static_cast<double>(c) ? 1 : 0;
  const auto frequency = [&](const std::vector<double>& row) {
    int equal = 0;
    for (std::size_t r = 0; r < samples.rows; ++r)
      equal += std::equal(row.begin(), row.end(), samples.row(r).begin()) ? 1 : 0;
    return equal / 300.0;
  };
  double expected = 0;
  for (std::size_t r = 0; r < samples.rows; ++r) {
    std::vector<double> row(samples.row(r).begin(), samples.row(r).end());
    std::vector<std::size_t> order = {0, 1, 2};
    double mixture = 0;
    do mixture += frequency({row[order[0]], row[order[1]], row[order[2]]}) / 6;
    while (std::next_permutation(order.begin(), order.end()));
    expected += std::log(frequency(row) / mixture) / 300;
  }
  EXPECT_NEAR(order_information(samples), expected, 1e-12);
}

TEST(DataProcessing, ChainAndDetour) {
  Random random(5);
  const std::size_t rows = 5000;
  Table x(rows, 1), z(rows, 1), y(rows, 1), past_z(rows, 1);
  for (std::size_t i = 0; i < rows; ++i) {
    x(i, 0) = random.normal();
    z(i, 0) = x(i, 0) + random.normal();
    y(i, 0) = z(i, 0) + random.normal();
    past_z(i, 0) = x(i, 0) + .1 * random.normal();  // directly from x
  }
  const DataProcessing chain = data_processing(x, z, y);
  EXPECT_TRUE(chain.holds(0));
  EXPECT_NEAR(chain.slack, 0, .03);
  EXPECT_NEAR(chain.x_y, -std::log(1 - 1.0 / 3) / 2, .03);
  const DataProcessing detour = data_processing(x, z, past_z);
  EXPECT_FALSE(detour.holds(.1));
  EXPECT_GT(detour.slack, 1);
  EXPECT_GT(detour.margin(), -.1);
}

TEST(TotalCorrelation, Errors) {
  const Table samples{{0, 1}, {1, 0}, {2, 5}};
  EXPECT_THROW(estimate_correlation(samples, with_plug_in(Estimator::mixed)), Error);
  EXPECT_THROW(estimate_correlation(Table{{0}, {1}}, with_plug_in(Estimator::discrete)), Error);
  EXPECT_THROW(estimate_correlation(Table{{0, 0}, {1, 2}, {2, 4}}, with_plug_in(Estimator::gaussian)), Error);
}

}  // namespace
}  // namespace isentropic::information
