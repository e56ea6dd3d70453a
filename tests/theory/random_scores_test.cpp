// Expectations over random scores against Monte Carlo and against known limits.
#include "isentropic/theory/random_scores.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.hpp"
#include "isentropic/error.hpp"
#include "isentropic/softmax_record.hpp"
#include "isentropic/theory/random_energy.hpp"

namespace isentropic::theory {
namespace {

// d cos(theta): one coordinate of a random direction, scaled, using the sum of squares of the other d - 1.
double cosine_score(Random& random, int d) {
  const double g = random.normal();
  double squares = g * g;
  for (int i = 1; i < d; ++i) squares += std::pow(random.normal(), 2);
  return d * g / std::sqrt(squares);
}

double draw(const ScoreLaw& law, Random& random) {
  switch (law.kind) {
    case ScoreLaw::Kind::gaussian:
      return law.parameter * random.normal();
    case ScoreLaw::Kind::cosine:
      return cosine_score(random, static_cast<int>(law.parameter));
    case ScoreLaw::Kind::exponential:
      return random.exponential();
    case ScoreLaw::Kind::uniform:
      break;
  }
  return random.uniform();
}

struct Average {
  double sum = 0, squares = 0;
  int count = 0;
  void add(double x) { sum += x, squares += x * x, ++count; }
  double mean() const { return sum / count; }
  double error() const { return std::sqrt((squares / count - mean() * mean()) / count); }
};

struct Drawn {
  Average log_partition, mean_score, entropy, collision, planted;
};

Drawn draw_rows(const ScoreLaw& law, int n, double lambda, std::optional<double> planted, int rows) {
  Random random(7);
  Drawn out;
  for (int row = 0; row < rows; ++row) {
    SoftmaxRecord<double> record;
    for (int j = 0; j < n; ++j) record = merge(record, single_key(lambda * draw(law, random), j));
    if (planted) record = merge(record, single_key(lambda * *planted, n));
    out.log_partition.add(log_partition(record));
    out.mean_score.add(mean_score(record) / lambda);
    out.entropy.add(entropy(record));
    out.collision.add(collision(record));
    if (planted) out.planted.add(std::exp(lambda * *planted - log_partition(record)));
  }
  return out;
}

void expect_near(const Average& drawn, double expected, const char* name) {
  EXPECT_NEAR(drawn.mean(), expected, 5 * drawn.error() + 1e-9) << name;
}

struct Case {
  ScoreLaw law;
  int n;
  double lambda;
  std::optional<double> planted;
};

class RandomScores : public testing::TestWithParam<Case> {};

TEST_P(RandomScores, AgreeWithDrawnRows) {
  const Case& x = GetParam();
  const Drawn drawn = draw_rows(x.law, x.n, x.lambda, x.planted, 4000);
  const ExpectedRow row = expected_row(x.law, std::log(x.n), x.lambda, x.planted);
  expect_near(drawn.log_partition, row.log_partition, "log_partition");
  expect_near(drawn.mean_score, row.mean_score, "mean_score");
  expect_near(drawn.entropy, row.entropy, "entropy");
  expect_near(drawn.collision, row.collision, "collision");
  if (x.planted) expect_near(drawn.planted, row.planted, "planted");
}

INSTANTIATE_TEST_SUITE_P(
    Laws, RandomScores,
    testing::Values(Case{ScoreLaw::gaussian(), 64, 1, {}}, Case{ScoreLaw::gaussian(2), 200, 3, {}},
                    Case{ScoreLaw::gaussian(), 3, 20, {}}, Case{ScoreLaw::gaussian(), 100, 1.5, 4.0},
                    Case{ScoreLaw::cosine(8), 64, 0.5, {}}, Case{ScoreLaw::cosine(8), 100, 3, {}},
                    Case{ScoreLaw::cosine(16), 64, 0.26, 16.0}, Case{ScoreLaw::cosine(3), 64, 30, {}},
                    Case{ScoreLaw::exponential(), 100, 0.5, {}}, Case{ScoreLaw::exponential(), 100, 3, {}},
                    Case{ScoreLaw::uniform(), 100, 20, {}}, Case{ScoreLaw::uniform(), 100, 300, {}}));

TEST(RandomScores, OfZeroScaleAreUniform) {
  const ExpectedRow row = expected_row(ScoreLaw::gaussian(), std::log(50), 0);
  EXPECT_NEAR(row.entropy, std::log(50), 1e-8);
  EXPECT_NEAR(row.collision, 0.02, 1e-9);
}

// One key: p = 1, whatever its score.
TEST(RandomScores, OfOneKeyHaveNoEntropy) {
  const ExpectedRow row = expected_row(ScoreLaw::gaussian(), 0, 2);
  EXPECT_NEAR(row.entropy, 0, 1e-8);
  EXPECT_NEAR(row.collision, 1, 1e-8);
}

// Two keys have p = 1/(1 + e^{-lambda x}) with x = s_1 - s_2, whose density is known for three laws.
TEST(RandomScores, OfTwoKeysByQuadrature) {
  const auto gaussian = [](double x) { return std::exp(-x * x / 4) / std::sqrt(4 * M_PI); };
  const auto laplace = [](double x) { return std::exp(-x) / 2; };
  const auto triangle = [](double x) { return std::max(0.0, 1 - x); };
  const std::pair<ScoreLaw, std::function<double(double)>> laws[] = {
      {ScoreLaw::gaussian(), gaussian}, {ScoreLaw::exponential(), laplace}, {ScoreLaw::uniform(), triangle}};
  for (const auto& [law, density] : laws)
    for (const double lambda : {0.7, 3.0, 20.0}) {
      double entropy = 0, collision = 0;  // Simpson's rule on x > 0, doubled
      const int steps = 200000;
      const double end = law.kind == ScoreLaw::Kind::uniform ? 1 : 40, h = end / steps;
      for (int i = 0; i <= steps; ++i) {
        const double x = i * h, weight = 2 * h / 3 * (i == 0 || i == steps ? 1 : i % 2 == 1 ? 4 : 2) * density(x);
        const double q = 1 / (1 + std::exp(lambda * x)), p = 1 - q;
        entropy += weight * (std::log1p(std::exp(-lambda * x)) + q * lambda * x);
        collision += weight * (p * p + q * q);
      }
      const ExpectedRow row = expected_row(law, std::log(2.0), lambda);
      EXPECT_NEAR(row.entropy, entropy, 2e-9) << static_cast<int>(law.kind) << " " << lambda;
      EXPECT_NEAR(row.collision, collision, 2e-9) << static_cast<int>(law.kind) << " " << lambda;
    }
}

// Astronomically many keys: both phases of the random energy model, from the same integrals.
TEST(RandomScores, TendToTheRandomEnergyModel) {
  const double log_n = 300 * std::log(10);
  EXPECT_NEAR(expected_row(ScoreLaw::gaussian(), log_n, 3).entropy, log_n - 4.5, 1e-6);
  const double b = 4 * freezing_spread(log_n);
  EXPECT_NEAR(expected_row(ScoreLaw::gaussian(), log_n, b).entropy, random_energy_entropy(log_n, b), 0.01);
}

TEST(RandomScores, SolveForTheScale) {
  for (const ScoreLaw& law : {ScoreLaw::gaussian(), ScoreLaw::cosine(64), ScoreLaw::uniform()}) {
    const double lambda = scale_for_entropy(law, std::log(4096), 2);
    EXPECT_NEAR(expected_row(law, std::log(4096), lambda).entropy, 2, 1e-8);
  }
}

TEST(RandomScores, RefuseBadNumbers) {
  EXPECT_THROW(expected_row(ScoreLaw::gaussian(), -1, 1), Error);
  EXPECT_THROW(expected_row(ScoreLaw::gaussian(), 1, -1), Error);
  EXPECT_THROW(expected_row(ScoreLaw::gaussian(), 1, std::nan("")), Error);
  EXPECT_THROW(ScoreLaw::cosine(1), Error);
  EXPECT_THROW(scale_for_entropy(ScoreLaw::gaussian(), 2, 2), Error);
}

}  // namespace
}  // namespace isentropic::theory
