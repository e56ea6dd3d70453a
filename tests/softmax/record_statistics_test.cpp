// Statistics of a record: hand-computed values, bounds, identities, the sink.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "record_support.hpp"
#include "support/random.hpp"

namespace softmax_test {
namespace {

using support::Random;
constexpr double kEps = std::numeric_limits<double>::epsilon();

TEST(RecordStatistics, FourEqualScoresByHand) {
  const Record record = record_of<double>({0, 0, 0, 0});
  EXPECT_EQ(record.m, 0);
  EXPECT_EQ(record.sums.z, 4);
  EXPECT_EQ(record.sums.u, 0);
  EXPECT_EQ(record.sums.w, 0);
  EXPECT_EQ(record.sums.c, 4);
  EXPECT_EQ(entropy(record), std::log(4.0));
  EXPECT_EQ(log_partition(record), std::log(4.0));
  EXPECT_EQ(peak(record), 0.25);
  EXPECT_EQ(collision(record), 0.25);
  EXPECT_EQ(participation(record), 4);
  EXPECT_EQ(sparsity(record), 1);
  EXPECT_EQ(normalised_entropy(record), 1);
  EXPECT_EQ(score_variance(record), 0);
}

TEST(RecordStatistics, TwoScoresByHand) {
  const double log3 = std::log(3.0);
  const Record record = record_of<double>({0, log3});
  EXPECT_NEAR(record.sums.z, 4.0 / 3, 4 * kEps);
  EXPECT_NEAR(record.sums.u, -log3 / 3, 4 * kEps);
  EXPECT_NEAR(entropy(record), std::log(4.0) - 0.75 * log3, 4 * kEps);
  EXPECT_NEAR(entropy(record), 0.5623351446188083, 4 * kEps);
  // p = {1/4, 3/4}: E = 3/4 log 3, V = 3/16 log^2 3, sum p^2 = 10/16.
  EXPECT_NEAR(mean_score(record), 0.75 * log3, 4 * kEps);
  EXPECT_NEAR(score_variance(record), 3.0 / 16 * log3 * log3, 4 * kEps);
  EXPECT_NEAR(collision(record), 0.625, 4 * kEps);
  EXPECT_NEAR(peak(record), 0.75, 4 * kEps);
  EXPECT_NEAR(log_partition(record), std::log(4.0), 4 * kEps);
  EXPECT_EQ(record.a, 1);
}

TEST(RecordStatistics, EmptyRecord) {
  const Record record;
  EXPECT_TRUE(record.empty());
  EXPECT_EQ(log_partition(record), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(entropy(record), 0);
  EXPECT_EQ(normalised_entropy(record), 0);
  EXPECT_EQ(mean_score(record), 0);
  EXPECT_EQ(score_variance(record), 0);
  EXPECT_EQ(peak(record), 0);
  EXPECT_EQ(collision(record), 0);
  EXPECT_EQ(participation(record), 0);
  EXPECT_EQ(sparsity(record), 0);
  EXPECT_EQ(record.k, 0);
  EXPECT_EQ(record.a, -1);
}

TEST(RecordStatistics, OneKeyHasNoUncertainty) {
  for (double score : {0.0, -1e4, 1e4, 1e-300}) {
    const Record record = record_of<double>({score});
    EXPECT_EQ(entropy(record), 0);
    EXPECT_EQ(normalised_entropy(record), 0);
    EXPECT_EQ(log_partition(record), score);
    EXPECT_EQ(mean_score(record), score);
    EXPECT_EQ(peak(record), 1);
    EXPECT_EQ(sparsity(record), 1);
  }
}

TEST(RecordStatistics, BoundsAndIdentities) {
  Random random(7);
  for (int trial = 0; trial < 2000; ++trial) {
    SCOPED_TRACE(trial);
    const int n = static_cast<int>(random.integer(1, 200));
    const double scale = std::pow(10, random.uniform(-3, 4));
    std::vector<double> scores = random.normals(n, scale);
    if (trial % 3 == 0) scores[random.integer(0, n - 1)] += random.uniform(-1e4, 1e4);
    const Record record = record_of(scores);
    const double k = n;
    const double rounding = 8 * n * kEps;
    EXPECT_GE(entropy(record), 0);
    EXPECT_LE(entropy(record), std::log(k) + rounding);
    EXPECT_GE(normalised_entropy(record), 0);
    EXPECT_LE(normalised_entropy(record), 1 + rounding);
    EXPECT_GE(peak(record), 1 / k - rounding);
    EXPECT_LE(peak(record), 1);
    EXPECT_GE(collision(record), 1 / k - rounding);
    EXPECT_LE(collision(record), 1 + rounding);
    EXPECT_GE(sparsity(record), 1 / std::sqrt(k) - rounding);
    EXPECT_LE(sparsity(record), 1 + rounding);
    EXPECT_GE(participation(record), 1 - rounding);
    EXPECT_LE(participation(record), k * (1 + rounding));
    EXPECT_GE(score_variance(record), 0);
    EXPECT_LE(mean_score(record), record.m);
    EXPECT_GE(log_partition(record), record.m);
    // H = L - E, and the two sparsity measures agree: participation = k S^2.
    EXPECT_NEAR(entropy(record), log_partition(record) - mean_score(record), rounding * (1 + std::abs(record.m)));
    EXPECT_NEAR(participation(record), k * sparsity(record) * sparsity(record), rounding * k);
    // Renyi entropies decrease with the order: H >= -log sum p^2 >= -log max p.
    EXPECT_GE(entropy(record), -std::log(collision(record)) - rounding);
    EXPECT_GE(-std::log(collision(record)), -std::log(peak(record)) - rounding);
  }
}

TEST(RecordStatistics, LargeScoresAndOutliersMatchDirectSums) {
  Random random(8);
  for (double scale : {1e-3, 1.0, 1e2, 1e4}) {
    for (double outlier : {0.0, 50.0, 1e4}) {
      std::vector<double> scores = random.normals(300, scale);
      scores[17] += outlier;
      const Record record = record_of(scores);
      const Sums exact = sums_of(scores);
      const long double h = std::log(exact.z) - exact.u / exact.z;
      const long double v = exact.w / exact.z - exact.u / exact.z * (exact.u / exact.z);
      // 300 merges with 6 roundings each; the variance's error is relative to the moment that it is a difference of.
      EXPECT_NEAR(entropy(record), h, 300 * 12 * kEps * (1 + std::log(300.0)));
      EXPECT_NEAR(score_variance(record), v, 300 * 24 * kEps * (exact.w + exact.t) / exact.z);
    }
  }
}

TEST(RecordStatistics, SinkJoinsTheNormaliserOnly) {
  const Record keys = record_of<double>({0, std::log(3.0)});
  const Record with_sink = merge(keys, isentropic::sink_logit(std::log(4.0)));
  EXPECT_NEAR(log_partition(with_sink), std::log(8.0), 4 * kEps);
  EXPECT_EQ(with_sink.k, 2);
  EXPECT_EQ(with_sink.a, 1);
  EXPECT_EQ(merge(isentropic::sink_logit(std::log(4.0)), keys).a, 1);
  // Its mass is e^{sigma - L}.
  EXPECT_NEAR(std::exp(std::log(4.0) - log_partition(with_sink)), 0.5, 4 * kEps);
  // A sink far below or above the keys.
  EXPECT_EQ(log_partition(merge(keys, isentropic::sink_logit(-1e4))), log_partition(keys));
  EXPECT_EQ(log_partition(merge(keys, isentropic::sink_logit(1e4))), 1e4);
  // A sink alone: a normaliser without keys.
  const Record alone = merge(Record{}, isentropic::sink_logit(2.0));
  EXPECT_EQ(log_partition(alone), 2.0);
  EXPECT_EQ(alone.k, 0);
  EXPECT_EQ(alone.a, -1);
  EXPECT_EQ(sparsity(alone), 0);
}

}  // namespace
}  // namespace softmax_test
