// Differences over seeds, by hand and against tables of Student's t.
#include "lab/paired.hpp"

#include <gtest/gtest.h>

namespace isentropic::lab {
namespace {

TEST(Paired, ByHand) {
  const Paired found = paired({1, 2, 4}, {0, 0, 1});
  EXPECT_DOUBLE_EQ(found.mean, 2);
  EXPECT_NEAR(found.error, 0.577350, 1e-6);
  EXPECT_EQ(found.seeds, 3);
  EXPECT_FALSE(found.beyond_spread());
  EXPECT_TRUE(paired({1, 2, 3}, {0, 0.9, 2.1}).beyond_spread());
  EXPECT_EQ(text_of(found, 2), "none (+2.00 ± 0.58)");
  EXPECT_EQ(text_of(paired({-1.0, -1.1, -0.9}), 1), "-1.0 ± 0.1");
}

TEST(Paired, OneSeedHasNoSpread) {
  const Paired one = paired({3}, {1});
  EXPECT_DOUBLE_EQ(one.mean, 2);
  EXPECT_TRUE(std::isnan(one.error));
  EXPECT_FALSE(one.beyond_spread());
  EXPECT_EQ(text_of(one, 1), "+2.0 (one seed)");
  EXPECT_TRUE(std::isnan(paired({}).mean));
}

TEST(Paired, SeedsThatAgreeExactlyDiffer) {
  EXPECT_TRUE(paired({2, 2}, {1, 1}).beyond_spread());
  EXPECT_FALSE(paired({1, 1}, {1, 1}).beyond_spread());
}

TEST(Paired, StudentsQuantiles) {
  EXPECT_NEAR(student_quantile(1), 12.7062, 1e-4);
  EXPECT_NEAR(student_quantile(2), 4.3027, 1e-4);
  EXPECT_NEAR(student_quantile(11), 2.2010, 2e-4);
  EXPECT_NEAR(student_quantile(15), 2.1314, 2e-4);
  EXPECT_NEAR(student_quantile(30), 2.0423, 2e-4);
  EXPECT_NEAR(student_quantile(1000), 1.9623, 2e-4);
}

}  // namespace
}  // namespace isentropic::lab
