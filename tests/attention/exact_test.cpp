// Cases whose result is known exactly.
#include <cmath>

#include "sweep.hpp"

namespace attention_test {
namespace {

using isentropic::AttentionProblem;
using isentropic::AttentionResult;
using isentropic::Normaliser;
using isentropic::Scale;
using isentropic::ScoreMap;
using isentropic::Statistics;
using isentropic::View;

// A single query of d = 1 with the given scores: the products are exact.
template <class T>
AttentionProblem scores(const std::vector<T>& keys, const std::vector<T>& values) {
  static const T kOne[] = {T(1)};
  const auto n = static_cast<std::int64_t>(keys.size());
  return {.query = View(kOne, {1, 1, 1, 1}),
          .key = View(keys.data(), {1, 1, n, 1}),
          .value = View(values.data(), {1, 1, n, 1}),
          .scale = Scale::constant(1.0),
          .statistics = Statistics::all(),
          .executor = &isentropic::serial_executor()};
}

template <class T>
class Exact : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Exact, Types);

TYPED_TEST(Exact, EqualScoresAreUniform) {
  using T = TypeParam;
  const double eps = std::numeric_limits<T>::epsilon();
  for (int n : {1, 2, 7, 64, 1000, 1024}) {
    for (T score : {T(0), T(-3), T(10000)}) {
      std::vector<T> values;
      for (int j = 0; j < n; ++j) values.push_back(static_cast<T>(j % 2));
      const std::vector<T> keys(static_cast<std::size_t>(n), score);
      const AttentionResult result = attention(scores(keys, values));
      const auto& rows = result.statistics;
      const double log_n = std::log(static_cast<double>(n));
      // z = n, u = w = 0 and c = n are sums of ones and zeros, exact in any order; what follows rounds once or twice.
      EXPECT_NEAR(rows.entropy.at({0, 0, 0}), log_n, eps * log_n);
      EXPECT_NEAR(rows.normalised_entropy.at({0, 0, 0}), n > 1 ? 1 : 0, eps);
      EXPECT_NEAR(rows.log_partition.at({0, 0, 0}), static_cast<double>(score) + log_n,
                  eps * std::abs(static_cast<double>(score) + log_n));
      EXPECT_EQ(rows.score_variance.at({0, 0, 0}), 0);
      EXPECT_EQ(rows.mean_score.at({0, 0, 0}), score);
      EXPECT_EQ(rows.max_score.at({0, 0, 0}), score);
      EXPECT_NEAR(rows.peak.at({0, 0, 0}), 1.0 / n, eps / n);
      EXPECT_NEAR(rows.collision.at({0, 0, 0}), 1.0 / n, eps / n);
      EXPECT_NEAR(rows.participation.at({0, 0, 0}), n, eps * n);
      EXPECT_NEAR(rows.sparsity.at({0, 0, 0}), 1, eps);
      EXPECT_NEAR(rows.effective_keys.at({0, 0, 0}), n, 4 * eps * n * (1 + log_n));
      EXPECT_EQ(rows.visible.at({0, 0, 0}), n);
      EXPECT_EQ(rows.argmax.at({0, 0, 0}), 0);
      EXPECT_NEAR(result.output.at({0, 0, 0, 0}), (n / 2) / static_cast<double>(n), eps);
    }
  }
}

TYPED_TEST(Exact, OneHotHasNoEntropy) {
  using T = TypeParam;
  std::vector<T> keys(200, T(-10000)), values(200, T(7));
  keys[131] = T(0);
  values[131] = T(0.25);
  const AttentionResult result = attention(scores(keys, values));
  EXPECT_EQ(result.statistics.entropy.at({0, 0, 0}), 0);
  EXPECT_EQ(result.statistics.peak.at({0, 0, 0}), 1);
  EXPECT_EQ(result.statistics.collision.at({0, 0, 0}), 1);
  EXPECT_EQ(result.statistics.participation.at({0, 0, 0}), 1);
  EXPECT_EQ(result.statistics.score_variance.at({0, 0, 0}), 0);
  EXPECT_EQ(result.statistics.log_partition.at({0, 0, 0}), 0);
  EXPECT_EQ(result.statistics.argmax.at({0, 0, 0}), 131);
  EXPECT_EQ(result.statistics.visible.at({0, 0, 0}), 200);
  EXPECT_EQ(result.output.at({0, 0, 0, 0}), 0.25);
}

// Integer queries, keys and values: every product and sum is an integer below 2^24, so any order gives the same bits.
TYPED_TEST(Exact, IntegerProducts) {
  using T = TypeParam;
  support::Random random(91);
  for (std::int64_t d : {1, 3, 16, 33, 64}) {
    for (std::int64_t n_k : {1, 9, 65, 130}) {
      const std::int64_t n_q = 17, d_v = 5;
      std::vector<T> q, k, v;
      for (std::int64_t x = 0; x < n_q * d; ++x) q.push_back(static_cast<T>(random.integer(-4, 4)));
      for (std::int64_t x = 0; x < n_k * d; ++x) k.push_back(static_cast<T>(random.integer(-4, 4)));
      for (std::int64_t x = 0; x < n_k * d_v; ++x) v.push_back(static_cast<T>(random.integer(-8, 8)));
      const AttentionProblem problem{.query = View(q.data(), {1, 1, n_q, d}),
                                     .key = View(k.data(), {1, 1, n_k, d}),
                                     .value = View(v.data(), {1, 1, n_k, d_v}),
                                     .scale = Scale::constant(1.0),
                                     .map = ScoreMap::identity(Normaliser::none),
                                     .executor = &isentropic::serial_executor()};
      const AttentionResult result = attention(problem);
      for (std::int64_t i = 0; i < n_q; ++i) {
        for (std::int64_t t = 0; t < d_v; ++t) {
          std::int64_t sum = 0;
          for (std::int64_t j = 0; j < n_k; ++j) {
            std::int64_t product = 0;
            for (std::int64_t c = 0; c < d; ++c) {
              product += static_cast<std::int64_t>(q[static_cast<std::size_t>(i * d + c)]) *
                         static_cast<std::int64_t>(k[static_cast<std::size_t>(j * d + c)]);
            }
            sum += product * static_cast<std::int64_t>(v[static_cast<std::size_t>(j * d_v + t)]);
          }
          ASSERT_EQ(result.output.at({0, 0, i, t}), static_cast<double>(sum));
        }
      }
      // Raw scores are exact too.
      AttentionProblem softmax = problem;
      softmax.map = ScoreMap::softmax();
      softmax.statistics = Statistics::of({isentropic::Statistic::max_score});
      const AttentionResult scored = attention_statistics(softmax);
      double top = -1e9;
      for (std::int64_t j = 0; j < n_k; ++j) {
        double product = 0;
        for (std::int64_t c = 0; c < d; ++c) {
          product += static_cast<double>(q[static_cast<std::size_t>(c)]) *
                     static_cast<double>(k[static_cast<std::size_t>(j * d + c)]);
        }
        top = std::max(top, product);
      }
      EXPECT_EQ(scored.statistics.max_score.at({0, 0, 0}), top);
    }
  }
}

// Scalable softmax: one score of +3, all others -2, s = 0.43, n = 1024. The largest weight is .9997, against e^5 / (e^5
// + 1023) = .127 for plain softmax.
TYPED_TEST(Exact, ScalableSoftmaxDoesNotFade) {
  using T = TypeParam;
  std::vector<T> keys(1024, T(-2)), values(1024, T(0));
  keys[500] = T(3);
  AttentionProblem problem = scores(keys, values);
  const double plain = attention(problem).statistics.peak.at({0, 0, 0});
  EXPECT_NEAR(plain, std::exp(5.0) / (std::exp(5.0) + 1023), 1e-6);
  EXPECT_NEAR(plain, 0.127, 5e-4);
  problem.scale = Scale::ssmax(0.43);
  const double scalable = attention(problem).statistics.peak.at({0, 0, 0});
  EXPECT_NEAR(scalable, 1 / (1 + 1023 * std::exp(-5 * 0.43 * std::log(1024.0))), 1e-6);
  EXPECT_NEAR(scalable, 0.9997, 5e-5);
}

// The hand-computed value from the record's header, through a full call: scores {0, log 3}.
TYPED_TEST(Exact, TwoScoresByHand) {
  using T = TypeParam;
  const double eps = std::numeric_limits<T>::epsilon();
  const std::vector<T> keys = {T(0), static_cast<T>(std::log(3.0))}, values = {T(0), T(1)};
  const AttentionResult result = attention(scores(keys, values));
  EXPECT_NEAR(result.statistics.entropy.at({0, 0, 0}), 0.5623351446188083, 4 * eps);
  EXPECT_NEAR(result.output.at({0, 0, 0, 0}), 0.75, 2 * eps);
  EXPECT_NEAR(result.statistics.log_partition.at({0, 0, 0}), std::log(4.0), 4 * eps);
}

}  // namespace
}  // namespace attention_test
