// Unusual but valid input, and results passed to the wrong call.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "isentropic/attention.hpp"

namespace isentropic {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// n queries and keys, one head.
struct Square {
  std::int64_t n, d;
  std::vector<float> q, k, v;

  Square(std::int64_t n_, std::int64_t d_) : n(n_), d(d_), q(n * d), k(n * d), v(n * d) {
    for (std::int64_t x = 0; x < n * d; ++x) {
      q[x] = std::sin(0.7f * float(x)), k[x] = std::cos(1.3f * float(x)), v[x] = std::sin(0.4f * float(x) + 1);
    }
  }
  AttentionProblem problem() const {
    const Shape shape{1, 1, n, d};
    return {.query = View(q.data(), shape), .key = View(k.data(), shape), .value = View(v.data(), shape)};
  }
};

TEST(WrongResult, IsRefusedBeforeItIsRead) {
  const Square x(8, 4);
  AttentionProblem problem = x.problem();
  problem.statistics = Statistics::of({Statistic::entropy});
  const AttentionResult whole = attention(problem);
  const AttentionUpstream upstream{.output = whole.output};
  EXPECT_THROW(attention_backward(problem, attention_statistics(problem), upstream), Error);
  AttentionProblem top = problem;
  top.map = ScoreMap::top_k(2);
  EXPECT_THROW(attention_backward(top, whole, upstream), Error);
  EXPECT_THROW(finish(attention_partial(problem), {}), Error);
  AttentionProblem wider = problem;
  const std::vector<float> values(8 * 9);
  wider.value = View(values.data(), {1, 1, 8, 9});
  EXPECT_THROW(finish(attention_partial(problem), wider), Error);
  AttentionProblem by_length = problem;
  by_length.scale = Scale::log_n();
  EXPECT_THROW(attention_backward(by_length, whole.rows, attention_row_constants(problem, whole, upstream), upstream),
               Error);
}

TEST(NaNQuery, ReachesItsOwnGradientsAndNoOthers) {
  Square x(16, 4);
  x.q[0] = kNaN;
  AttentionProblem problem = x.problem();
  problem.mask = Mask::causal();  // row 0 sees only key 0
  problem.sink = PerHead(0.5);
  const AttentionResult forward = attention(problem);
  const AttentionGradients gradients =
      attention_backward(problem, forward, {.output = View(x.v.data(), {1, 1, 16, 4})});
  EXPECT_TRUE(std::isnan(gradients.query.at({0, 0, 0, 0})));
  EXPECT_TRUE(std::isnan(gradients.key.at({0, 0, 0, 1})));
  for (std::int64_t j = 1; j < 16; ++j) {
    EXPECT_TRUE(std::isfinite(gradients.query.at({0, 0, j, 0}))) << j;
    EXPECT_TRUE(std::isfinite(gradients.key.at({0, 0, j, 0}))) << j;
    EXPECT_TRUE(std::isfinite(gradients.value.at({0, 0, j, 0}))) << j;
    EXPECT_TRUE(std::isfinite(attention_key_mass(problem, forward).at({0, 0, j}))) << j;
  }
}

TEST(NaNScale, StaysInItsRow) {
  const Square x(16, 4);
  std::vector<float> lambda(16, 0.5f);
  lambda[0] = kNaN;
  for (const ScoreMap& map : {ScoreMap::softmax(), ScoreMap::relu_squared()}) {
    AttentionProblem problem = x.problem();
    problem.mask = Mask::causal();
    problem.map = map;
    problem.scale = Scale::per_row(View(lambda.data(), {1, 1, 16}));
    const AttentionResult forward = attention(problem);
    const AttentionGradients gradients =
        attention_backward(problem, forward, {.output = View(x.v.data(), {1, 1, 16, 4})});
    for (std::int64_t j = 1; j < 16; ++j) EXPECT_TRUE(std::isfinite(gradients.key.at({0, 0, j, 0}))) << map.name() << j;
  }
}

TEST(ExpFeatures, ThatOverflowStayWithTheRowsThatSeeThem) {
  Square x(8, 2);
  x.k[15] = 100;  // e^100 overflows a float; only the last row sees the last key
  AttentionProblem problem = x.problem();
  problem.mask = Mask::causal();
  problem.map = ScoreMap::linear(Feature::exp);
  const AttentionResult forward = attention(problem);
  const AttentionGradients gradients = attention_backward(problem, forward, {.output = View(x.v.data(), {1, 1, 8, 2})});
  for (std::int64_t i = 0; i < 7; ++i) EXPECT_TRUE(std::isfinite(gradients.query.at({0, 0, i, 1}))) << i;
}

TEST(Decay, FarBehindTheLastKeyIsStillADistribution) {
  const Square x(1200, 2);
  for (LinearForm form : {LinearForm::quadratic, LinearForm::recurrent}) {
    AttentionProblem problem = x.problem();
    problem.mask = Mask::causal().key_lengths({8});
    problem.map = ScoreMap::decay(0.9, Normaliser::l1, form);
    const Tensor output = attention(problem).output;
    for (std::int64_t i : {8, 900, 1199}) EXPECT_NEAR(output.at({0, 0, i, 0}), output.at({0, 0, 7, 0}), 1e-6) << i;
  }
}

TEST(Decay, DoesNotLookAtTheContent) {
  Square x(4, 2);
  AttentionProblem problem = x.problem();
  problem.mask = Mask::causal();
  problem.map = ScoreMap::decay(0.5);
  const double plain = attention(problem).output.at({0, 0, 3, 0});
  for (float& value : x.q) value = -3e38f;
  for (float& value : x.k) value = 3e38f;
  EXPECT_EQ(attention(problem).output.at({0, 0, 3, 0}), plain);
  problem.mask = Mask::causal().prefix(2);
  EXPECT_THROW(attention(problem), Error);
}

TEST(Sparsemax, OfHugeScoresStillSumsToOne) {
  const Square x(5, 2);
  AttentionProblem problem = x.problem();
  problem.map = ScoreMap::sparsemax();
  problem.scale = Scale::constant(1e9);
  const std::vector<double> weights = attention_weights(problem, {0}).to_doubles();
  double sum = 0;
  for (double weight : weights) sum += weight;
  EXPECT_EQ(sum, 1);
}

TEST(NoLimit, MayBeTheLargestInteger) {
  const Square x(6, 2);
  AttentionProblem problem = x.problem();
  problem.statistics = Statistics::of({Statistic::visible, Statistic::first_mass}).groups(kNoLimit, kNoLimit);
  problem.mask = Mask::none().window(kNoLimit, kNoLimit);
  EXPECT_EQ(attention(problem).statistics.visible.at({0, 0, 2}), 6);
  problem.mask = Mask::causal().prefix(kNoLimit).documents({0, 3, 6});
  const RowStatistics statistics = attention(problem).statistics;
  EXPECT_EQ(statistics.visible.at({0, 0, 4}), 3);
  EXPECT_NEAR(statistics.first_mass.at({0, 0, 4}), 1, 1e-6);
  problem.statistics = Statistics::none();
  problem.map = ScoreMap::top_k(kNoLimit);
  EXPECT_EQ(attention(problem).selected.shape().back(), 6);
}

TEST(Shard, OffsetsBeyondTheWholeAreRefused) {
  const Square x(4, 2);
  AttentionProblem problem = x.problem();
  problem.shard = {.query_runs = {isentropic::Run{kNoLimit}}, .total_queries = 100};
  EXPECT_THROW(attention(problem), Error);
}

}  // namespace
}  // namespace isentropic
