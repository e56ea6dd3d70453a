// The number of coordinates position codes need, by hand and in edge cases.
#include "isentropic/theory/position_capacity.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "isentropic/error.hpp"

namespace isentropic::theory {
namespace {

TEST(PositionCapacity, ValuesByHand) {
  EXPECT_EQ(least_position_coordinates(1024, 1), 10);
  EXPECT_EQ(least_position_coordinates(1024, 2), 5);
  EXPECT_EQ(least_position_coordinates(1024, 4), 3);
  EXPECT_EQ(least_position_coordinates(1024, 8), 2);
  EXPECT_EQ(least_position_coordinates(1024, 16), 1);
  EXPECT_EQ(least_position_coordinates(1025, 1), 11);
  EXPECT_EQ(least_position_coordinates(1, 1), 0);
  EXPECT_EQ(least_position_coordinates(std::numeric_limits<std::int64_t>::max(), 1), 63);
}

// The first d digits of the position in base 2^b distinguish all positions; d - 1 coordinates have too few values.
TEST(PositionCapacity, DigitsOfThePosition) {
  for (std::int64_t n : {2, 3, 7, 8, 9, 100, 512, 513})
    for (std::int64_t b : {1, 2, 3, 5}) {
      const std::int64_t d = least_position_coordinates(n, b);
      std::set<std::int64_t> codes;
      for (std::int64_t x = 0; x < n; ++x) codes.insert(x & ((std::int64_t{1} << (d * b)) - 1));
      EXPECT_EQ(static_cast<std::int64_t>(codes.size()), n);
      EXPECT_LT(std::int64_t{1} << ((d - 1) * b), n);
    }
}

TEST(PositionCapacity, RefusesWhatIsNoInput) {
  EXPECT_THROW(least_position_coordinates(0, 1), Error);
  EXPECT_THROW(least_position_coordinates(8, 0), Error);
}

}  // namespace
}  // namespace isentropic::theory
