// Scores in an interval: the closed-form floor against all splits by brute force, and random scores against bounds.
#include "isentropic/theory/bounded_scores.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "isentropic/error.hpp"
#include "theory/naive_softmax.hpp"

namespace isentropic::theory {
namespace {

// m scores at 0, the others at -range.
std::vector<double> two_levels(std::size_t n, std::size_t m, double range) {
  std::vector<double> out(n, -range);
  std::fill_n(out.begin(), m, 0.0);
  return out;
}

TEST(BoundedScores, ConstantsOfUnitTemperature) {
  const double range = cosine_score_range(1);
  EXPECT_EQ(range, 2);
  EXPECT_NEAR(bounded_entropy_gap(range), 0.4744746471, 1e-10);
  EXPECT_NEAR(bounded_top_share(range), 0.20551319, 1e-8);
  EXPECT_NEAR(bounded_entropy_gap(cosine_score_range(0.07)), 24.219, 5e-4);
}

TEST(BoundedScores, SmallRanges) {
  for (const double range : {1e-8, 1e-5, 1e-3}) {
    EXPECT_NEAR(bounded_entropy_gap(range) / (range * range / 8), 1, 1e-5 + range) << range;
    EXPECT_NEAR(bounded_top_share(range), 0.5, range) << range;
  }
  EXPECT_EQ(bounded_entropy_gap(0), 0);
  EXPECT_EQ(bounded_top_share(0), 0.5);
}

TEST(BoundedScores, FloorIsTheBestOfAllSplits) {
  for (const std::size_t n : {2u, 3u, 7u, 60u, 257u})
    for (const double range : {0.1, 1.0, 2.0, 5.0, 28.0}) {
      double least = std::log(static_cast<double>(n));
      for (std::size_t m = 1; m < n; ++m) least = std::min(least, naive::entropy(two_levels(n, m, range)));
      const BoundedEntropyFloor floor = bounded_entropy_floor(static_cast<std::int64_t>(n), range);
      EXPECT_NEAR(floor.entropy, least, 1e-12) << n << ' ' << range;
      EXPECT_NEAR(naive::entropy(two_levels(n, static_cast<std::size_t>(floor.top_keys), range)), least, 1e-12);
      EXPECT_LE(std::log(static_cast<double>(n)) - floor.entropy, bounded_entropy_gap(range) + 1e-12);
    }
  EXPECT_NEAR(std::log(60.0) - bounded_entropy_floor(60, 2).entropy, 0.474356, 5e-7);
  EXPECT_EQ(bounded_entropy_floor(1, 2).entropy, 0);
}

// Entropies given by the published floors of cosines at temperatures 0.07, 0.1 and 0.2, for more and more keys.
TEST(BoundedScores, FloorsForManyKeys) {
  const double range = cosine_score_range(0.07);
  EXPECT_NEAR(bounded_entropy_floor(65536, range).entropy / 7.6e-7, 1, 0.01);
  EXPECT_NEAR(bounded_entropy_floor(1'000'000'000, range).entropy, 0.0115, 5e-5);
  EXPECT_NEAR(bounded_entropy_floor(1'000'000'000'000, range).entropy, 3.41, 5e-3);
  EXPECT_NEAR(bounded_entropy_floor(65536, cosine_score_range(0.1)).entropy, 0.0028, 5e-5);
  EXPECT_NEAR(bounded_entropy_floor(1024, cosine_score_range(0.2)).entropy, 0.49, 5e-3);
}

TEST(BoundedScores, RandomScoresKeepWithin) {
  Random random(1);
  for (int t = 0; t < 3000; ++t) {
    const auto n = static_cast<std::size_t>(random.integer(1, 40));
    const double range = random.uniform(0, 6);
    std::vector<double> scores(n);
    for (double& s : scores) s = random.uniform() < 0.3 ? range * (random.uniform() < 0.3) : random.uniform(0, range);
    const auto keys = static_cast<std::int64_t>(n);
    EXPECT_GE(naive::entropy(scores), bounded_entropy_floor(keys, range).entropy - 1e-12);
    const std::vector<double> a = naive::softmax(scores);
    EXPECT_LE(*std::max_element(a.begin(), a.end()), largest_bounded_weight(keys, range) + 1e-15);
    EXPECT_GE(*std::min_element(a.begin(), a.end()), smallest_bounded_weight(keys, range) - 1e-15);
    EXPECT_LE(largest_bounded_weight(keys, range), std::exp(range) / static_cast<double>(n) * (1 + 1e-15));
  }
}

TEST(BoundedScores, WeightBoundsAreAttained) {
  EXPECT_NEAR(naive::softmax(two_levels(9, 1, 3))[0], largest_bounded_weight(9, 3), 1e-15);
  EXPECT_NEAR(naive::softmax(two_levels(9, 8, 3))[8], smallest_bounded_weight(9, 3), 1e-15);
}

TEST(BoundedScores, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(cosine_score_range(0), Error);
  EXPECT_THROW(bounded_entropy_gap(-1), Error);
  EXPECT_THROW(bounded_entropy_floor(0, 1), Error);
  EXPECT_THROW(largest_bounded_weight(3, std::nan("")), Error);
}

}  // namespace
}  // namespace isentropic::theory
