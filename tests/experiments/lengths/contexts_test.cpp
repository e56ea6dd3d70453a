// The contexts match their header's description: cosines of the families, position codes, needles.
#include "experiments/lengths/contexts.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "isentropic/error.hpp"

namespace isentropic::experiments::lengths {
namespace {

double cosine(const float* x, const float* y, std::int64_t d) {
  double xy = 0, xx = 0, yy = 0;
  for (std::int64_t i = 0; i < d; ++i) {
    xy += static_cast<double>(x[i]) * y[i];
    xx += static_cast<double>(x[i]) * x[i];
    yy += static_cast<double>(y[i]) * y[i];
  }
  return xy / std::sqrt(xx * yy);
}

// Mean cosine between keys j and j + step.
double mean_cosine(Keys keys, std::int64_t step) {
  const Contexts contexts =
      draw_contexts({.keys = keys, .positions = {}, .n = 2048, .d = 64, .sets = 1, .queries = 1}, 3);
  double sum = 0;
  for (std::int64_t j = 0; j + step < 2048; ++j) sum += cosine(contexts.key(0, j), contexts.key(0, j + step), 64);
  return sum / static_cast<double>(2048 - step);
}

TEST(Contexts, FamiliesHaveTheirCosines) {
  EXPECT_NEAR(mean_cosine(Keys::random, 1), 0.0, 0.02);
  EXPECT_NEAR(mean_cosine(Keys::correlated, 1), 0.3, 0.02);
  EXPECT_NEAR(mean_cosine(Keys::clustered, 16), 0.8, 0.02);  // the same cluster
  EXPECT_NEAR(mean_cosine(Keys::clustered, 1), 0.0, 0.1);    // neighbours in different clusters: 16 random pairs
}

TEST(Contexts, NormsAreTheRootOfD) {
  for (const Keys keys : {Keys::random, Keys::clustered, Keys::correlated}) {
    const Contexts contexts =
        draw_contexts({.keys = keys, .positions = {}, .n = 8, .d = 20, .sets = 2, .queries = 3}, 1);
    for (std::int64_t j = 0; j < 8; ++j) {
      double squares = 0;
      for (int i = 0; i < 20; ++i) squares += contexts.key(1, j)[i] * contexts.key(1, j)[i];
      EXPECT_NEAR(squares, 20, 1e-4);
    }
  }
}

TEST(Contexts, NeedleRepeatsTheQuery) {
  const Contexts contexts =
      draw_contexts({.keys = Keys::random, .positions = {}, .n = 8, .d = 20, .sets = 2, .queries = 3}, 1);
  EXPECT_EQ(contexts.needles, contexts.queries);
}

// A set is the same whether drawn alone or with others.
TEST(Contexts, SetsDoNotDependOnTheBatch) {
  const ContextShape three{.keys = Keys::clustered, .positions = {}, .n = 8, .d = 4, .sets = 3, .queries = 2};
  ContextShape one = three;
  one.sets = 1;
  const Contexts all = draw_contexts(three, 9), last = draw_contexts(one, 9, 2);
  EXPECT_TRUE(std::equal(last.keys.begin(), last.keys.end(), all.key(2, 0)));
  EXPECT_TRUE(std::equal(last.queries.begin(), last.queries.end(), all.query(2, 0)));
}

// c(p).c(p + r) depends only on r and is d/2 at r = 0. Codes are what remains after subtracting the content.
TEST(Contexts, SinusoidalCodesDependOnTheLag) {
  constexpr std::int64_t kLength = 64, kSize = 64;
  ContextShape shape{.keys = Keys::random, .positions = {}, .n = kLength, .d = kSize, .sets = 1, .queries = 1};
  const Contexts plain = draw_contexts(shape, 5);
  shape.positions = {Positions::sinusoidal, 1.0};
  const Contexts coded = draw_contexts(shape, 5);
  const auto product = [&](std::int64_t i, std::int64_t j) {
    double sum = 0;
    for (std::int64_t e = 0; e < kSize; ++e)
      sum += (coded.key(0, i)[e] - plain.key(0, i)[e]) * (coded.key(0, j)[e] - plain.key(0, j)[e]);
    return sum;
  };
  EXPECT_NEAR(product(10, 10), kSize / 2.0, 1e-3);
  EXPECT_NEAR(product(10, 17), product(40, 47), 1e-3);
  EXPECT_NEAR(product(0, 1), 30.9, 0.05);  // measured value at lag 1, d = 64
  // The needle carries the code of the first position, the query that of the last.
  for (std::int64_t e = 0; e < kSize; ++e) {
    EXPECT_NEAR(coded.needle(0, 0)[e] - plain.needle(0, 0)[e], coded.key(0, 0)[e] - plain.key(0, 0)[e], 1e-5);
    EXPECT_NEAR(coded.query(0, 0)[e] - plain.query(0, 0)[e],
                coded.key(0, kLength - 1)[e] - plain.key(0, kLength - 1)[e], 1e-5);
  }
}

double dot(const float* x, const float* y, std::int64_t d) {
  double sum = 0;
  for (std::int64_t i = 0; i < d; ++i) sum += static_cast<double>(x[i]) * y[i];
  return sum;
}

Contexts rotary(std::int64_t n, std::int64_t d, double strength, std::uint64_t seed) {
  const PositionCode code{Positions::rotary, strength};
  return draw_contexts({.keys = Keys::random, .positions = code, .n = n, .d = d, .sets = 1, .queries = 2}, seed);
}

// A single pair of coordinates rotates by the position itself: a key j before the query is rotated by -j against it.
TEST(Contexts, RotaryByHand) {
  EXPECT_NEAR(dot(rotary(2, 2, 1, 1).query(0, 0), rotary(2, 2, 1, 1).needle(0, 0), 2), 2 * std::cos(1.0), 1e-5);
  EXPECT_NEAR(dot(rotary(9, 2, 0.5, 1).query(0, 1), rotary(9, 2, 0.5, 1).needle(0, 1), 2), 2 * std::cos(4.0), 1e-5);
  const ContextShape shape{.keys = Keys::random, .positions = {}, .n = 6, .d = 2, .sets = 1, .queries = 2};
  const Contexts plain = draw_contexts(shape, 7), turned = rotary(6, 2, 1, 7);
  for (std::int64_t j = 0; j < 6; ++j) {
    const float *q = plain.query(0, 0), *k = plain.key(0, j);
    const double lag = static_cast<double>(5 - j), cosine = std::cos(lag), sine = std::sin(lag);
    // q.R(-lag) k, R(t) = (cos t, -sin t; sin t, cos t).
    const double wanted = q[0] * (cosine * k[0] + sine * k[1]) + q[1] * (-sine * k[0] + cosine * k[1]);
    EXPECT_NEAR(dot(turned.query(0, 0), turned.key(0, j), 2), wanted, 1e-5) << j;
  }
}

// The pairs rotate at 10000^{-2i/d}, norms are preserved, and the last coordinate of an odd head is left alone.
TEST(Contexts, RotaryTurnsPairsAndKeepsNorms) {
  constexpr std::int64_t kLength = 100, kSize = 7;
  const ContextShape shape{.keys = Keys::random, .positions = {}, .n = kLength, .d = kSize, .sets = 1, .queries = 2};
  const Contexts plain = draw_contexts(shape, 3), turned = rotary(kLength, kSize, 1, 3);
  for (const std::int64_t j : {std::int64_t{0}, std::int64_t{1}, kLength - 1}) {
    const float *before = plain.key(0, j), *after = turned.key(0, j);
    for (int i = 0; i < 3; ++i) {
      const double angle = static_cast<double>(j) * std::pow(10000.0, -2.0 * i / kSize);
      EXPECT_NEAR(after[2 * i], before[2 * i] * std::cos(angle) - before[2 * i + 1] * std::sin(angle), 1e-5) << j;
      EXPECT_NEAR(after[2 * i + 1], before[2 * i] * std::sin(angle) + before[2 * i + 1] * std::cos(angle), 1e-5) << j;
    }
    EXPECT_EQ(after[6], before[6]);
    EXPECT_NEAR(dot(after, after, kSize), kSize, 1e-4);
  }
  EXPECT_NEAR(cosine(turned.query(0, 0), plain.query(0, 0), 2), std::cos(99.0), 1e-5);
  EXPECT_EQ(turned.needles, plain.needles);  // at position 0
}

TEST(Contexts, BiasesFallWithDistance) {
  EXPECT_EQ((PositionCode{Positions::alibi, 0.1}.bias(10)), -1.0);
  EXPECT_NEAR((PositionCode{Positions::relative, 2.0}.bias(6)), -2 * std::log(7.0), 1e-15);
  EXPECT_EQ((PositionCode{Positions::sinusoidal, 1.0}.bias(10)), 0.0);
}

TEST(Contexts, UnknownPositionsAreListed) {
  EXPECT_EQ(positions_named("relative"), Positions::relative);
  try {
    positions_named("learned");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "positions is learned; expected none, random, sinusoidal, rotary, alibi or relative");
  }
}

}  // namespace
}  // namespace isentropic::experiments::lengths
