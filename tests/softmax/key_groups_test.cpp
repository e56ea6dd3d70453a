// Located records and key groups merge like the records they contain, and small groups keep their digits.
#include "isentropic/key_groups.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "record_support.hpp"
#include "support/random.hpp"

namespace softmax_test {
namespace {

using isentropic::KeyGroupsRecord;
using isentropic::LocatedRecord;
using support::Random;

LocatedRecord located_key(double score, std::int64_t index, double position) {
  return {isentropic::single_key(score, index), position};
}

TEST(LocatedRecords, EmptyIsTheExactIdentity) {
  const LocatedRecord key = merge(located_key(-3.5, 0, 2), located_key(1.25, 1, 7));
  for (const LocatedRecord& merged : {merge(key, LocatedRecord{}), merge(LocatedRecord{}, key)}) {
    expect_same_bits(merged.record, key.record);
    EXPECT_EQ(merged.location, key.location);
  }
  EXPECT_EQ(merge(LocatedRecord{}, LocatedRecord{}).location, 0);
}

TEST(LocatedRecords, LocationIsTheWeightedPosition) {
  Random random(11);
  for (double scale : {0.0, 1.0, 1e4}) {
    const std::vector<double> scores = random.normals(50, scale);
    const Sums exact = sums_of(scores);
    long double location = 0, spread = 0;
    for (int j = 0; j < 50; ++j) {
      const long double gap = scores[j] - exact.m;
      location += j * std::exp(gap);
      spread += j * (1 - gap) * std::exp(gap);
    }
    for (int trial = 0; trial < 5; ++trial) {
      std::vector<LocatedRecord> parts(4);
      for (int j = 0; j < 50; ++j) {
        LocatedRecord& part = parts[random.integer(0, 3)];
        part = merge(located_key(scores[j], j, j), part);
      }
      const LocatedRecord whole = merge(merge(parts[2], parts[0]), merge(parts[3], parts[1]));
      expect_record_near(whole.record, exact, 52);
      EXPECT_NEAR(whole.location, location, 52 * 6 * std::numeric_limits<double>::epsilon() * spread);
    }
  }
}

TEST(LocatedRecords, MinusInfinityLeavesNoTrace) {
  const double minus = -std::numeric_limits<double>::infinity();
  const LocatedRecord nothing = merge(located_key(minus, 0, 5), located_key(minus, 1, 6));
  const LocatedRecord key = located_key(0.0, 2, 7);
  EXPECT_EQ(merge(nothing, key).location, 7);
  EXPECT_EQ(merge(key, nothing).location, 7);
}

TEST(KeyGroups, GroupsMergeOneByOne) {
  KeyGroupsRecord left, right;
  left.group[isentropic::kFirstKeys] = located_key(1e4, 0, 0);
  left.group[isentropic::kOtherKeys] = located_key(0.0, 1, 1);
  right.group[isentropic::kRecentKeys] = located_key(0.0, 2, 2);
  right.group[isentropic::kOtherKeys] = located_key(0.0, 3, 3);
  const KeyGroupsRecord both = merge(left, right);
  EXPECT_EQ(both.group[isentropic::kFirstKeys].record.k, 1);
  EXPECT_EQ(both.group[isentropic::kRecentKeys].record.k, 1);
  EXPECT_EQ(both.group[isentropic::kOtherKeys].record.k, 2);
  EXPECT_EQ(both.group[isentropic::kOtherKeys].location, 4);
  // The first key has e^{10^4} times the mass of the others, whose entropy is still exact.
  const Record others = merge(both.group[isentropic::kRecentKeys].record, both.group[isentropic::kOtherKeys].record);
  EXPECT_EQ(entropy(others), std::log(3.0));
}

TEST(KeyGroups, EmptyIsTheIdentity) {
  KeyGroupsRecord groups;
  groups.group[isentropic::kRecentKeys] = located_key(-2.0, 4, 4);
  const KeyGroupsRecord merged = merge(KeyGroupsRecord{}, groups);
  for (int g = 0; g < isentropic::kKeyGroups; ++g) {
    expect_same_bits(merged.group[g].record, groups.group[g].record);
    EXPECT_EQ(merged.group[g].location, groups.group[g].location);
  }
}

}  // namespace
}  // namespace softmax_test
