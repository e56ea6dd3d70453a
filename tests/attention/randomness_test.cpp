// Dropout and Gumbel noise: determined by (seed, batch, head, i, j) alone, and distributed as intended.
#include <cmath>
#include <numbers>
#include <numeric>

#include "sweep.hpp"

namespace attention_test {
namespace {

using isentropic::AttentionProblem;
using isentropic::Dropout;
using isentropic::ScoreMap;
using support::Numbers;

const Sizes kWide{.batch = 2, .heads = 3, .kv_heads = 3, .n_q = 64, .n_k = 200, .d = 1, .d_v = 1};

double mean(const Numbers& x) { return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size()); }

// Correlation of x[n] with y[n + lag].
double correlation(const Numbers& x, const Numbers& y, std::size_t lag) {
  const double mx = mean(x), my = mean(y);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t n = 0; n + lag < x.size(); ++n) {
    xy += (x[n] - mx) * (y[n + lag] - my);
    xx += (x[n] - mx) * (x[n] - mx);
    yy += (y[n + lag] - my) * (y[n + lag] - my);
  }
  return xy / std::sqrt(xx * yy);
}

// No correlation between neighbours in a row, neighbouring rows, heads or batch entries. The bound is five standard
// deviations of the correlation of independent numbers.
void expect_independent(const Numbers& noise) {
  const double bound = 5 / std::sqrt(static_cast<double>(noise.size()) / 2);
  const auto row = static_cast<std::size_t>(kWide.n_k), head = row * static_cast<std::size_t>(kWide.n_q);
  for (std::size_t lag :
       {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{32}, row, row + 1, head, 3 * head}) {
    EXPECT_LE(std::abs(correlation(noise, noise, lag)), bound) << "lag " << lag;
  }
}

TEST(Dropout, KeepsTheRightShareIndependently) {
  for (double probability : {0.1, 0.5, 0.9}) {
    Numbers kept;
    for (char keep : support::observed_dropout_choices(kWide, {probability, 123})) kept.push_back(keep);
    const double deviation = std::sqrt(probability * (1 - probability) / static_cast<double>(kept.size()));
    EXPECT_NEAR(mean(kept), 1 - probability, 5 * deviation);
    expect_independent(kept);
  }
}

TEST(Dropout, OfProbabilityZeroChangesNothing) {
  Instance x = build({.sizes = kSmall, .seed = 71});
  const auto without = attention(x.problem);
  x.problem.dropout = Dropout{0.0, 5};
  EXPECT_TRUE(support::identical(without.output, attention(x.problem).output));
}

TEST(Dropout, IsFixedByItsSeed) {
  Instance x = build({.sizes = kSmall, .parts = {support::causal()}, .seed = 72});
  const auto run = [&](std::uint64_t seed) {
    x.problem.dropout = Dropout{0.5, seed};
    return attention(x.problem).output;
  };
  EXPECT_TRUE(support::identical(run(1), run(1)));
  EXPECT_FALSE(support::identical(run(1), run(2)));
  // Seeds that differ only in their upper half must count as different.
  EXPECT_FALSE(support::identical(run(1), run(1 + (std::uint64_t{1} << 40))));
}

TEST(Dropout, MeetsTheOracleUnderEveryMapAndMask) {
  std::uint64_t seed = 7300;
  for (const Part& map : support::score_maps()) {
    if (map.name.find("straight") != std::string::npos) continue;
    check_forward({.sizes = kSmall, .parts = {support::causal(), map, support::dropout(0.4, 7)}, .seed = ++seed});
  }
  for (const auto& masks : support::mask_combinations()) {
    check_forward({.sizes = kSmall,
                   .parts = joined(masks, {support::sink(), support::dropout(0.25, 8), support::groups(1, 2)}),
                   .seed = ++seed});
  }
  check_forward({.sizes = kOdd, .parts = {support::causal(), support::dropout(0.5, 9)}, .seed = ++seed});
}

TEST(Gumbel, NoiseHasTheMomentsOfTheLaw) {
  const Numbers noise = support::observed_gumbel_noise(kWide, 99);
  const auto count = static_cast<double>(noise.size());
  const double variance = std::numbers::pi * std::numbers::pi / 6;
  EXPECT_NEAR(mean(noise), std::numbers::egamma, 5 * std::sqrt(variance / count));
  double sum = 0;
  for (double g : noise) sum += (g - std::numbers::egamma) * (g - std::numbers::egamma);
  // The distribution's fourth central moment is 5.4 variances squared.
  EXPECT_NEAR(sum / count, variance, 5 * variance * std::sqrt(4.4 / count));
  // P(g < 0) = 1/e, P(g < 2) = e^{-e^{-2}}.
  for (double at : {0.0, 2.0}) {
    double below = 0;
    for (double g : noise) below += g < at ? 1 : 0;
    const double p = std::exp(-std::exp(-at));
    EXPECT_NEAR(below / count, p, 5 * std::sqrt(p * (1 - p) / count));
  }
  expect_independent(noise);
}

TEST(Gumbel, IsFixedByItsSeed) {
  EXPECT_EQ(support::observed_gumbel_noise(kSmall, 3), support::observed_gumbel_noise(kSmall, 3));
  EXPECT_NE(support::observed_gumbel_noise(kSmall, 3), support::observed_gumbel_noise(kSmall, 4));
}

// The noise of a pair does not depend on the number of queries and keys.
TEST(Gumbel, IsThatOfThePair) {
  Sizes more = kSmall;
  more.n_q += 5;
  more.n_k += 11;
  const Numbers small = support::observed_gumbel_noise(kSmall, 3), large = support::observed_gumbel_noise(more, 3);
  for (std::int64_t h = 0; h < kSmall.batch * kSmall.heads; ++h) {
    for (std::int64_t i = 0; i < kSmall.n_q; ++i) {
      for (std::int64_t j = 0; j < kSmall.n_k; ++j) {
        EXPECT_NEAR(small[static_cast<std::size_t>((h * kSmall.n_q + i) * kSmall.n_k + j)],
                    large[static_cast<std::size_t>((h * more.n_q + i) * more.n_k + j)], 1e-12);
      }
    }
  }
}

TEST(Gumbel, SharesNoBitsWithDropoutUnderOneSeed) {
  const Numbers noise = support::observed_gumbel_noise(kWide, 55);
  Numbers kept;
  for (char keep : support::observed_dropout_choices(kWide, {0.5, 55})) kept.push_back(keep);
  EXPECT_LE(std::abs(correlation(noise, kept, 0)), 5 / std::sqrt(static_cast<double>(noise.size())));
}

// The argmax of s + g is a sample of softmax(s): its frequency over many heads is the probability.
TEST(Gumbel, StraightThroughSamplesTheSoftmax) {
  const std::int64_t rows = 20000;
  const Numbers q(static_cast<std::size_t>(rows), 1.0), k = {0, std::log(3.0)}, v = {0, 1};
  const AttentionProblem problem{.query = isentropic::View(q.data(), {1, 1, rows, 1}),
                                 .key = isentropic::View(k.data(), {1, 1, 2, 1}),
                                 .value = isentropic::View(v.data(), {1, 1, 2, 1}),
                                 .scale = isentropic::Scale::constant(1.0),
                                 .map = ScoreMap::gumbel(0.3, 77, isentropic::GumbelSample::straight_through)};
  const Numbers chosen = attention(problem).output.to_doubles();
  for (double output : chosen) ASSERT_TRUE(output == 0 || output == 1);
  EXPECT_NEAR(mean(chosen), 0.75, 5 * std::sqrt(0.75 * 0.25 / static_cast<double>(rows)));
}

}  // namespace
}  // namespace attention_test
