// Argument checks: what they accept, and the wording of their messages.
#include "base/checks.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "support/complaint.hpp"

namespace isentropic {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

using support::complaint;

TEST(ToText, WritesNumbersAsPeopleDo) {
  const std::pair<double, const char*> expected[] = {
      {0, "0"},           {0.07, "0.07"},  {-1.5, "-1.5"},   {100000, "100000"}, {1e14, "100000000000000"},
      {0.0001, "0.0001"}, {1e39, "1e+39"}, {1e-46, "1e-46"}, {kInfinity, "inf"}};
  for (const auto& [number, text] : expected) EXPECT_EQ(to_text(number), text);
  EXPECT_EQ(to_text(kNan), "nan");
}

TEST(Checks, AcceptWhatTheySay) {
  require(true, "x", kNan, "anything");
  require_finite("x", -1e300);
  require_positive("x", 5e-324);
  require_non_negative("x", 0);
  require_above("x", 1.5, 1);
  require_at_least("x", 1, 1);
  require_at_least("x", std::size_t{3}, 2);
  require_below("x", -1, 0);
  require_below("x", std::int64_t{4}, 5);
  require_length("x", 3, 3, "as y");
  require_finite("x", std::vector<double>{0, 1});
  require_distribution("x", std::vector<double>{0.25, 0.75, 0});
}

TEST(Checks, RefuseInfinityAndNan) {
  for (const double x : {kInfinity, -kInfinity, kNan}) {
    EXPECT_THROW(require_finite("x", x), Error);
    EXPECT_THROW(require_positive("x", x), Error);
    EXPECT_THROW(require_non_negative("x", x), Error);
    EXPECT_THROW(require_above("x", x, -1), Error);
    EXPECT_THROW(require_at_least("x", x, -1.0), Error);
    EXPECT_THROW(require_below("x", x, 1.0), Error);
    EXPECT_THROW(require_finite("x", std::vector<double>{0, x}), Error);
    EXPECT_THROW(require_distribution("x", std::vector<double>{1, x}), Error);
  }
}

TEST(Checks, SayWhatIsWrong) {
  EXPECT_EQ(complaint([] { require_positive("sigma", 0); }), "sigma is 0; expected a finite number > 0");
  EXPECT_EQ(complaint([] { require_non_negative("eps", kInfinity); }), "eps is inf; expected a finite number >= 0");
  EXPECT_EQ(complaint([] { require_above("d", 0.07, 1); }), "d is 0.07; expected a finite number > 1");
  EXPECT_EQ(complaint([] { require_at_least("n", std::int64_t{0}, 1); }), "n is 0; expected at least 1");
  EXPECT_EQ(complaint([] { require_below("key", 100000, 100); }), "key is 100000; expected less than 100");
  EXPECT_EQ(complaint([] { require_length("x", 3, 4, "one for each key"); }),
            "x is of length 3; expected length 4, one for each key");
  EXPECT_EQ(complaint([] { require_finite("scores", std::vector<double>{}); }),
            "scores is empty; expected at least one number");
  EXPECT_EQ(complaint([] {
              require_finite("scores", std::vector<double>{0, kNan});
            }),
            "scores[1] is nan; expected a finite number");
  EXPECT_EQ(complaint([] {
              require_distribution("p", std::vector<double>{1, -0.5});
            }),
            "p[1] is -0.5; expected a probability");
  EXPECT_EQ(complaint([] {
              require_distribution("p", std::vector<double>{0.5, 0.25});
            }),
            "the sum of p is 0.75; expected 1 within 1e-9");
}

}  // namespace
}  // namespace isentropic
