// The bound against an algorithm whose generalisation error is known exactly: it repeats the only point it has seen.
#include "isentropic/theory/generalisation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "isentropic/error.hpp"

namespace isentropic::theory {
namespace {

TEST(Generalisation, ValueByHand) {
  EXPECT_DOUBLE_EQ(generalisation_bound(std::numbers::ln2, 1, sub_gaussian_deviation(0, 2)),
                   std::sqrt(2 * std::numbers::ln2));
  EXPECT_NEAR(generalisation_bound(std::numbers::ln2, 1, 1), 1.17741, 1e-5);
}

// W = the point seen, a coin with P(1) = p; loss c 1[w != x]. Error on the sample 0, on new data 2 c p (1 - p).
TEST(Generalisation, HoldsForTheAlgorithmThatCopies) {
  for (double p : {.05, .2, .5, .8})
    for (double c : {.5, 1., 3., 10.}) {
      const double information = -p * std::log(p) - (1 - p) * std::log(1 - p);
      const double error = 2 * c * p * (1 - p);
      const double bound = generalisation_bound(information, 1, sub_gaussian_deviation(0, c));
      EXPECT_LE(error, bound);
    }
  // The constant is nearly the best possible: a fair coin reaches 85% of the bound.
  EXPECT_NEAR(.5 / generalisation_bound(std::numbers::ln2, 1, sub_gaussian_deviation(0, 1)), .849, 1e-3);
}

TEST(Generalisation, Scales) {
  const double one = generalisation_bound(.3, 100, .5);
  EXPECT_DOUBLE_EQ(generalisation_bound(1.2, 100, .5), 2 * one);
  EXPECT_DOUBLE_EQ(generalisation_bound(.3, 400, .5), one / 2);
  EXPECT_DOUBLE_EQ(generalisation_bound(.3, 100, 1.5), 3 * one);
}

TEST(Generalisation, ExtremeInformation) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(generalisation_bound(0, 10, 1), 0);
  EXPECT_EQ(generalisation_bound(infinity, 10, 1), infinity);
  EXPECT_EQ(generalisation_bound(infinity, 10, 0), 0);
  EXPECT_EQ(sub_gaussian_deviation(3, 3), 0);
}

TEST(Generalisation, RefusesWhatIsNoInput) {
  EXPECT_THROW(generalisation_bound(-.1, 1, 1), Error);
  EXPECT_THROW(generalisation_bound(std::nan(""), 1, 1), Error);
  EXPECT_THROW(generalisation_bound(1, 0, 1), Error);
  EXPECT_THROW(generalisation_bound(1, 1, -1), Error);
  EXPECT_THROW(sub_gaussian_deviation(1, 0), Error);
  EXPECT_THROW(sub_gaussian_deviation(0, std::numeric_limits<double>::infinity()), Error);
}

// Hoeffding's lemma: E e^{t (x - mean)} <= e^{t^2 sigma^2 / 2} for every law on [low, high], with near equality for a
// fair coin on the ends and small t.
TEST(Generalisation, DeviationOfARangeIsHoeffdings) {
  const double low = -1, high = 3, sigma = sub_gaussian_deviation(low, high);
  for (double p : {.1, .3, .5, .9})
    for (double t : {-2., -.3, .01, .5, 2.}) {
      const double mean = p * high + (1 - p) * low;
      const double moment = p * std::exp(t * (high - mean)) + (1 - p) * std::exp(t * (low - mean));
      EXPECT_LE(moment, std::exp(t * t * sigma * sigma / 2) * (1 + 1e-14)) << p << " " << t;
    }
  const double t = 1e-2;
  EXPECT_NEAR(std::log(std::cosh(2 * t)) / (t * t * sigma * sigma / 2), 1, 1e-3);
}

}  // namespace
}  // namespace isentropic::theory
