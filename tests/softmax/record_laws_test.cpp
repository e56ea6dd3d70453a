// The record is a commutative monoid: exact identity, exact commutativity, associativity to rounding, and any
// partition or order of the keys gives the same record.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "record_support.hpp"
#include "support/random.hpp"

namespace softmax_test {
namespace {

using support::Random;

template <class T>
class RecordLaws : public testing::Test {};
using ValueTypes = testing::Types<double, float>;
TYPED_TEST_SUITE(RecordLaws, ValueTypes);

// Score scales from nearly uniform to one-hot, with and without an outlier.
template <class T>
std::vector<std::vector<T>> score_sets(std::uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<T>> out;
  for (int n : {1, 2, 3, 7, 16, 33, 100}) {
    for (double scale : {0.0, 1e-3, 1.0, 30.0, 1e4}) {
      for (double outlier : {0.0, 1e3, -1e4}) {
        std::vector<T> scores;
        for (int j = 0; j < n; ++j) scores.push_back(static_cast<T>(scale * random.normal()));
        scores[random.integer(0, n - 1)] += static_cast<T>(outlier);
        out.push_back(scores);
      }
    }
  }
  return out;
}

TYPED_TEST(RecordLaws, EmptyIsTheExactIdentity) {
  for (const auto& scores : score_sets<TypeParam>(1)) {
    const auto record = record_of(scores);
    expect_same_bits(merge(SoftmaxRecord<TypeParam>{}, record), record);
    expect_same_bits(merge(record, SoftmaxRecord<TypeParam>{}), record);
  }
  expect_same_bits(merge(SoftmaxRecord<TypeParam>{}, SoftmaxRecord<TypeParam>{}), SoftmaxRecord<TypeParam>{});
}

TYPED_TEST(RecordLaws, MergeCommutesExactly) {
  const auto sets = score_sets<TypeParam>(2);
  for (std::size_t x = 0; x + 1 < sets.size(); ++x) {
    const auto left = record_of(sets[x]);
    const auto right = record_of(sets[x + 1], 1000);
    expect_same_bits(merge(left, right), merge(right, left));
  }
}

TYPED_TEST(RecordLaws, MergeIsAssociative) {
  const auto sets = score_sets<TypeParam>(3);
  for (std::size_t x = 0; x + 2 < sets.size(); ++x) {
    SCOPED_TRACE(x);
    const auto first = record_of(sets[x]), second = record_of(sets[x + 1], 1000), third = record_of(sets[x + 2], 2000);
    std::vector<TypeParam> all = sets[x];
    all.insert(all.end(), sets[x + 1].begin(), sets[x + 1].end());
    all.insert(all.end(), sets[x + 2].begin(), sets[x + 2].end());
    const Sums exact = sums_of(all);
    const auto left = merge(merge(first, second), third);
    const auto right = merge(first, merge(second, third));
    expect_record_near(left, exact, 102);
    expect_record_near(right, exact, 102);
    EXPECT_EQ(left.k, right.k);
    EXPECT_EQ(left.a, right.a);
  }
}

TYPED_TEST(RecordLaws, AnyPartitionAndOrderGivesTheSameRecord) {
  Random random(4);
  for (const auto& scores : score_sets<TypeParam>(5)) {
    const Sums exact = sums_of(scores);
    const auto top = std::max_element(scores.begin(), scores.end()) - scores.begin();
    for (int trial = 0; trial < 4; ++trial) {
      // Keys in random order are assigned to random parts (some empty); the parts merge in random order.
      std::vector<int> order(scores.size());
      std::iota(order.begin(), order.end(), 0);
      random.shuffle(&order);
      std::vector<SoftmaxRecord<TypeParam>> parts(random.integer(1, 9));
      for (int j : order) {
        auto& part = parts[random.integer(0, static_cast<std::int64_t>(parts.size()) - 1)];
        part = merge(part, isentropic::single_key(scores[j], j));
      }
      random.shuffle(&parts);
      SoftmaxRecord<TypeParam> whole;
      for (const auto& part : parts) whole = merge(whole, part);
      expect_record_near(whole, exact, static_cast<int>(scores.size() + parts.size()));
      EXPECT_EQ(whole.k, static_cast<std::int64_t>(scores.size()));
      EXPECT_EQ(whole.a, top);
    }
  }
}

TYPED_TEST(RecordLaws, RebaseMovesTheOriginAndComposes) {
  using T = TypeParam;
  const std::vector<T> scores = {T(0.5), T(-1.25), T(2), T(-7)};
  const auto record = record_of(scores);
  for (T up : {T(0), T(0.25), T(3), T(40)}) {
    // Relative to m + up, the sums are those of the same scores plus a key of weight 0 at m + up.
    const auto moved = rebase(record, record.m + up);
    const T shift = std::exp(-up);
    long double u = 0, w = 0;
    for (T s : scores) {
      const long double gap = static_cast<long double>(s) - (record.m + up);
      u += gap * std::exp(gap);
      w += gap * gap * std::exp(gap);
    }
    const T eps = 64 * (1 + up) * std::numeric_limits<T>::epsilon();
    EXPECT_NEAR(moved.z, shift * record.sums.z, eps * std::abs(moved.z));
    EXPECT_NEAR(moved.u, u, eps * std::abs(moved.u));
    EXPECT_NEAR(moved.w, w, eps * std::abs(moved.w));
    EXPECT_NEAR(moved.c, shift * shift * record.sums.c, eps * std::abs(moved.c));
  }
  // Once the exponential underflows everything vanishes, without 0 * inf.
  for (T up : {T(1e5), std::numeric_limits<T>::infinity()}) {
    const auto gone = rebase(record, record.m + up);
    EXPECT_EQ(gone.z, T(0));
    EXPECT_EQ(gone.u, T(0));
    EXPECT_EQ(gone.w, T(0));
    EXPECT_EQ(gone.c, T(0));
  }
}

TYPED_TEST(RecordLaws, TiesGoToTheLowestIndex) {
  using T = TypeParam;
  const auto low = isentropic::single_key(T(1.5), 3);
  const auto high = isentropic::single_key(T(1.5), 8);
  EXPECT_EQ(merge(low, high).a, 3);
  EXPECT_EQ(merge(high, low).a, 3);
  EXPECT_EQ(merge(merge(high, isentropic::single_key(T(0), 0)), low).a, 3);
}

TYPED_TEST(RecordLaws, MinusInfinityWeighsNothingButIsSeen) {
  using T = TypeParam;
  const T minus = -std::numeric_limits<T>::infinity();
  const std::vector<std::vector<T>> orders = {
      {minus, minus, T(0), T(0)}, {T(0), minus, T(0), minus}, {T(0), T(0), minus, minus}};
  for (const auto& order : orders) {
    const auto record = record_of(order);
    EXPECT_EQ(record.k, 4);
    EXPECT_EQ(record.m, T(0));
    EXPECT_EQ(record.sums.z, T(2));
    EXPECT_EQ(record.sums.u, T(0));
    EXPECT_EQ(record.sums.w, T(0));
    EXPECT_EQ(record.sums.c, T(2));
    EXPECT_EQ(order[record.a], T(0));
  }
}

TYPED_TEST(RecordLaws, NaNReachesEveryStatistic) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<std::vector<T>> orders = {{nan, T(1), T(2)}, {T(1), nan, T(2)}, {T(1), T(2), nan}, {nan}};
  for (const auto& order : orders) {
    SCOPED_TRACE(testing::PrintToString(order));
    const auto record = record_of(order);
    EXPECT_TRUE(std::isnan(log_partition(record)));
    EXPECT_TRUE(std::isnan(record.m));
    if (order.size() == 1) continue;  // a single key has weight 1 whatever its score
    EXPECT_TRUE(std::isnan(entropy(record)));
    EXPECT_TRUE(std::isnan(mean_score(record)));
    EXPECT_TRUE(std::isnan(score_variance(record)));
    EXPECT_TRUE(std::isnan(peak(record)));
    EXPECT_TRUE(std::isnan(collision(record)));
    EXPECT_TRUE(std::isnan(participation(record)));
    EXPECT_TRUE(std::isnan(sparsity(record)));
  }
}

}  // namespace
}  // namespace softmax_test
