// A pass and a merge match the full softmax: every context is rebuilt key by key, in double.
#include "experiments/lengths/measure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace isentropic::experiments::lengths {
namespace {

struct Row {
  double entropy, first;  // H, and the probability of the first score
};

Row softmax(const std::vector<double>& scores) {
  const double most = *std::max_element(scores.begin(), scores.end());
  double z = 0, u = 0;
  for (const double s : scores) {
    z += std::exp(s - most);
    u += (s - most) * std::exp(s - most);
  }
  return {std::log(z) - u / z, std::exp(scores[0] - most) / z};
}

Measurement naive(const ContextShape& shape, double lambda, std::uint64_t seed) {
  const Contexts contexts = draw_contexts(shape, seed);
  Measurement out;
  const double rows = static_cast<double>(shape.sets * shape.queries);
  for (std::int64_t set = 0; set < shape.sets; ++set) {
    for (std::int64_t i = 0; i < shape.queries; ++i) {
      const auto score = [&](const float* key, std::int64_t j) {
        double sum = 0;
        for (std::int64_t e = 0; e < shape.d; ++e) sum += static_cast<double>(contexts.query(set, i)[e]) * key[e];
        return lambda * sum + shape.positions.bias(shape.n - 1 - j);
      };
      std::vector<double> scores;
      for (std::int64_t j = 0; j < shape.n; ++j) scores.push_back(score(contexts.key(set, j), j));
      out.entropy.mean += softmax(scores).entropy / rows;
      scores[0] = score(contexts.needle(set, i), 0);
      out.needle.mean += softmax(scores).first / rows;
      out.needle_entropy.mean += softmax(scores).entropy / rows;
    }
  }
  return out;
}

ContextShape small(PositionCode positions, std::int64_t n) {
  return {.keys = Keys::random, .positions = positions, .n = n, .d = 12, .sets = 3, .queries = 5};
}

TEST(Measure, EqualsTheWholeSoftmax) {
  for (const Positions kind :
       {Positions::none, Positions::random, Positions::sinusoidal, Positions::alibi, Positions::relative}) {
    for (const std::int64_t n : {2, 9, 64, 203}) {
      SCOPED_TRACE(testing::Message() << name(kind) << ", n = " << n);
      const ContextShape shape = small({kind, usual_strength(kind)}, n);
      const std::vector<double> lambdas = {0.0, 0.1, 0.7};
      const std::vector<Measurement> measured = measure(shape, lambdas, 4);
      for (std::size_t i = 0; i < lambdas.size(); ++i) {
        const Measurement wanted = naive(shape, lambdas[i], 4);
        EXPECT_NEAR(measured[i].entropy.mean, wanted.entropy.mean, 2e-5);
        EXPECT_NEAR(measured[i].needle.mean, wanted.needle.mean, 2e-5);
        EXPECT_NEAR(measured[i].needle_entropy.mean, wanted.needle_entropy.mean, 2e-5);
        EXPECT_EQ(measured[i].lambda.mean, lambdas[i]);
      }
    }
  }
}

TEST(Measure, SolvesForATargetEntropy) {
  const ContextShape shape = small({}, 203);
  const Measurement solved = measure_target(shape, 2.0, 4);
  EXPECT_NEAR(solved.entropy.mean, 2.0, 1e-3);
  EXPECT_NEAR(solved.needle_entropy.mean, 2.0, 1e-3);
  EXPECT_LT(solved.entropy.error, 1e-3);
  // lambda is right on average: a smaller one gives an H above the target, a larger one an H below it.
  EXPECT_GT(naive(shape, 0.8 * solved.lambda.mean, 4).entropy.mean, 2.0);
  EXPECT_LT(naive(shape, 1.25 * solved.lambda.mean, 4).entropy.mean, 2.0);
}

// A pure window e^{-a distance} is a geometric distribution with parameter 1 - e^{-a}, whatever n.
TEST(Measure, AlibiAloneHasTheGeometricEntropy) {
  const double p = 1 - std::exp(-0.1);
  const double geometric = (-(1 - p) * std::log(1 - p) - p * std::log(p)) / p;
  EXPECT_NEAR(geometric, 3.3030, 5e-5);
  for (const std::int64_t n : {256, 4096})
    EXPECT_NEAR(measure(small({Positions::alibi, 0.1}, n), {0.0}, 1)[0].entropy.mean, geometric, 1e-4);
}

double entropy_at(PositionCode positions, std::int64_t n, std::int64_t d, double lambda, Keys keys = Keys::random) {
  const ContextShape shape{.keys = keys, .positions = positions, .n = n, .d = d, .sets = 8, .queries = 16};
  return measure(shape, {lambda}, 2)[0].entropy.mean;
}

TEST(Measure, PositionsLowerTheEntropy) {
  const double none = entropy_at({}, 512, 64, 0.125);
  EXPECT_NEAR(none, std::log(512.0) - 0.5, 0.03);
  EXPECT_NEAR(entropy_at({Positions::sinusoidal, 1.0}, 512, 64, 0.125), 5.17, 0.1);
  EXPECT_LT(entropy_at({Positions::alibi, 0.1}, 512, 64, 0.125), none - 2);
  EXPECT_LT(entropy_at({Positions::relative, 1.0}, 512, 64, 0.125), none - 0.5);
  const double weak = entropy_at({Positions::random, 0.3}, 512, 64, 0.125);
  const double strong = entropy_at({Positions::random, 1.0}, 512, 64, 0.125);
  EXPECT_LT(weak, none);
  EXPECT_LT(strong, weak - 1);
}

// Rotated random directions are random, so H is unchanged. What correlated keys share no longer cancels, so H falls.
TEST(Measure, RotaryKeepsTheEntropyOfRandomKeysAlone) {
  const PositionCode rotary{Positions::rotary, 1.0};
  EXPECT_NEAR(entropy_at(rotary, 512, 64, 0.3), entropy_at({}, 512, 64, 0.3), 0.05);
  EXPECT_LT(entropy_at(rotary, 512, 64, 0.3, Keys::correlated), entropy_at({}, 512, 64, 0.3, Keys::correlated) - 0.1);
}

// A distant needle scores not d = 64 but sum_i |q_i|^2 cos((n - 1) t_i): 25.4 on average at n = 1024.
TEST(Measure, RotaryHidesADistantNeedle) {
  const double lambda = std::log(1024.0) / 64;
  const auto needle = [&](PositionCode positions) {
    const ContextShape shape{
        .keys = Keys::random, .positions = positions, .n = 1024, .d = 64, .sets = 8, .queries = 16};
    return measure(shape, {lambda}, 2)[0].needle.mean;
  };
  double score = 0;
  for (int i = 0; i < 32; ++i) score += 2 * std::cos(1023 * std::pow(10000.0, -2.0 * i / 64));
  EXPECT_NEAR(needle({}), 0.407, 0.03);
  // 1/(1 + n e^{lambda^2 d/2 - lambda score}), with the score of a typical query.
  const double odds = std::exp(lambda * score - lambda * lambda * 64 / 2) / 1024;
  EXPECT_NEAR(needle({Positions::rotary, 1.0}), odds / (1 + odds), 0.3 * odds);
  EXPECT_LT(needle({Positions::rotary, 1.0}), 0.1);
}

// Codes of amplitude a make the variance of a score (1 + a^2)^2, so H = log n - (1 + a^2)^2/2.
TEST(Measure, RandomPositionsAddVariance) {
  EXPECT_NEAR(entropy_at({Positions::random, 0.5}, 4096, 64, 0.125), std::log(4096.0) - 1.25 * 1.25 / 2, 0.04);
}

// What all keys share cancels: correlated keys at lambda are random keys at lambda sqrt(1 - 0.3).
TEST(Measure, CommonComponentCancels) {
  for (const double lambda : {0.125, 0.3})
    EXPECT_NEAR(entropy_at({}, 1024, 64, lambda, Keys::correlated), entropy_at({}, 1024, 64, lambda * std::sqrt(0.7)),
                0.08);
}

}  // namespace
}  // namespace isentropic::experiments::lengths
