// The scale laws, and rows solved for a target entropy.
#include <cmath>

#include "isentropic/scale.hpp"
#include "sweep.hpp"

namespace attention_test {
namespace {

using isentropic::Scale;
using isentropic::ScaleInput;
using isentropic::TargetEntropyStatus;

TEST(Scales, EveryLawUnderEveryMask) {
  std::uint64_t seed = 400;
  for (const auto& masks : support::mask_combinations()) {
    for (const Part& scale : support::formula_scales()) {
      check_forward({.sizes = seed % 2 ? kSmall : kMoreQueries, .parts = joined(masks, {scale}), .seed = ++seed});
    }
  }
}

TEST(Scales, ByHand) {
  const ScaleInput row{.visible = 1024, .d = 64, .position = 8191, .head = 1};
  EXPECT_NEAR(Scale::log_n(1.0).lambda(row), 0.10830, 5e-6);
  EXPECT_DOUBLE_EQ(Scale::inverse_sqrt_d().lambda(row), 0.125);
  EXPECT_DOUBLE_EQ(Scale::log_n_sqrt_d(std::vector<double>{9, 2}).lambda(row), 2 * std::log(1024.0) / 8);
  EXPECT_DOUBLE_EQ(Scale::sqrt_log_n(1.0).lambda(row), std::sqrt(std::log(1024.0)) / 8);
  EXPECT_DOUBLE_EQ(Scale::frozen(1.0, 512).lambda(row), std::log(512.0) / 64);
  EXPECT_DOUBLE_EQ(Scale::hybrid(2.0, 3.0).lambda(row), 0.25 + 3 * std::log(1024.0) / 64);
  EXPECT_DOUBLE_EQ(Scale::trained_length(32).lambda(row), 0.25);
  EXPECT_DOUBLE_EQ(Scale::trained_length(4096).lambda(row), 0.125);
  // At d = 2 the nearest of 1024 directions is 1/1024 away, the nearest of 2 is 1/2 away.
  EXPECT_DOUBLE_EQ(Scale::info_scale(2).lambda({.visible = 1024, .d = 2}),
                   std::sqrt((1 - 1.0 / 1024) / (1 - 1.0 / 2)) / std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(Scale::info_scale(1024).lambda(row), 0.125);
  EXPECT_DOUBLE_EQ(Scale::ssmax(0.43).lambda(row), 0.43 * std::log(1024.0));
  EXPECT_DOUBLE_EQ(Scale::yarn(1.0).lambda(row), 0.125);
  EXPECT_DOUBLE_EQ(Scale::yarn(std::exp(10.0)).lambda(row), 0.5);
  EXPECT_DOUBLE_EQ(Scale::llama4(8192, 0.1).lambda(row), 0.125 * (1 + 0.1 * std::log(2.0)));
  EXPECT_DOUBLE_EQ(Scale::llama4(8193, 0.1).lambda(row), 0.125);
  EXPECT_DOUBLE_EQ(Scale::constant(0.3).lambda(row), 0.3);
  EXPECT_DOUBLE_EQ(Scale::temperature(4.0).lambda(row), 0.25);
  const ScaleInput alone{.visible = 1, .d = 64, .position = 0, .head = 0};
  EXPECT_EQ(Scale::log_n(1.0).lambda(alone), 0);
  EXPECT_EQ(Scale::info_scale(32).lambda(alone), 0);
  EXPECT_EQ(Scale::ssmax(1.0).lambda(alone), 0);
  EXPECT_DOUBLE_EQ(Scale::trained_length(32).lambda(alone), 0.125);
}

TEST(Scales, DerivativesAreThoseOfTheLaw) {
  const ScaleInput row{.visible = 37, .d = 6, .position = 11, .head = 1};
  const double h = 1e-4;
  const auto check = [&](const char* name, auto make, std::vector<double> at) {
    SCOPED_TRACE(name);
    const auto scale = [&](const std::vector<double>& x) { return make(x); };
    ASSERT_EQ(scale(at).learnable(), static_cast<int>(at.size()));
    EXPECT_EQ(scale(at).name(), name);
    for (std::size_t p = 0; p < at.size(); ++p) {
      std::vector<double> up = at, down = at;
      up[p] += h;
      down[p] -= h;
      const double difference = (scale(up).lambda(row) - scale(down).lambda(row)) / (2 * h);
      EXPECT_NEAR(scale(at).derivative(static_cast<int>(p), row), difference, 1e-10);
    }
  };
  check("log_n", [](auto& x) { return Scale::log_n(x[0]); }, {0.7});
  check("log_n_sqrt_d", [](auto& x) { return Scale::log_n_sqrt_d(x[0]); }, {0.7});
  check("sqrt_log_n", [](auto& x) { return Scale::sqrt_log_n(x[0]); }, {0.7});
  check("frozen", [](auto& x) { return Scale::frozen(x[0], 100); }, {0.7});
  check("hybrid", [](auto& x) { return Scale::hybrid(x[0], x[1]); }, {0.7, 1.9});
  check("ssmax", [](auto& x) { return Scale::ssmax(x[0]); }, {0.7});
  check("constant", [](auto& x) { return Scale::constant(x[0]); }, {0.7});
  for (const Scale& fixed :
       {Scale::inverse_sqrt_d(), Scale::trained_length(8), Scale::info_scale(8), Scale::yarn(4), Scale::llama4()}) {
    EXPECT_EQ(fixed.learnable(), 0) << fixed.name();
  }
}

// Checks each row's status, its lambda where it is determined, and the resulting entropy.
void check_wanted(const Case& description, double target, double tolerance) {
  SCOPED_TRACE(description.describe());
  Instance x = build(description);
  support::target_entropy(target).apply(x);
  x.problem.statistics = isentropic::Statistics::all();
  const isentropic::AttentionResult result = attention(x.problem);
  const reference::Forward expected = reference::forward(x.oracle);
  const support::Numbers entropy = result.statistics.entropy.to_doubles();
  ASSERT_EQ(result.rows.status.size(), std::ssize(expected.reach));
  ASSERT_EQ(result.rows.iterations.size(), std::ssize(expected.reach));
  for (std::size_t r = 0; r < entropy.size(); ++r) {
    SCOPED_TRACE(r);
    EXPECT_LE(result.rows.iterations.values<std::int64_t>()[r], 15);
    switch (expected.reach[r]) {
      case reference::Reach::solved:
        EXPECT_EQ(result.rows.solution(static_cast<std::int64_t>(r)), TargetEntropyStatus::solved);
        EXPECT_NEAR(entropy[r], target, tolerance);
        // dH/dlambda = -V / lambda: the entropy error divided by the slope, with margin for its rounding.
        EXPECT_NEAR(result.rows.scale(static_cast<std::int64_t>(r)), expected.lambda[r],
                    2 * tolerance * expected.lambda[r] / expected.statistics.at("score_variance")[r]);
        break;
      case reference::Reach::above:
        EXPECT_EQ(result.rows.solution(static_cast<std::int64_t>(r)), TargetEntropyStatus::above_reach);
        EXPECT_EQ(result.rows.scale(static_cast<std::int64_t>(r)), 0);
        EXPECT_NEAR(entropy[r], std::log(std::max(1.0, static_cast<double>(expected.visible[r]))), tolerance);
        break;
      case reference::Reach::below:
        EXPECT_EQ(result.rows.solution(static_cast<std::int64_t>(r)), TargetEntropyStatus::below_reach);
        break;
    }
  }
  // The other results must match the lambdas found.
  x.oracle.scale = {reference::Law::per_row, {}, 0, result.rows.lambda.to_doubles()};
  const reference::Forward same_scales = reference::forward(x.oracle);
  // float32 rounds a score s a few times, by eps |s| each: small targets make lambda, hence the scores, large.
  const support::Numbers& scores = same_scales.statistics.at("max_score");
  const double rounding = 4 * 1.2e-7 * (1 + *std::max_element(scores.begin(), scores.end()));
  support::expect_result(result, same_scales, x, description.type == DType::float64 ? 1e-11 : rounding);
}

TEST(TargetEntropy, UnderEveryMask) {
  std::uint64_t seed = 500;
  for (const auto& masks : support::mask_combinations()) {
    const bool additive = masks.back().name.starts_with("dense additive");
    if (additive) continue;  // rejected: entropy is not monotone in lambda
    for (double target : {0.3, 1.1, 1.9}) {
      check_wanted({.sizes = kSmall, .parts = masks, .seed = ++seed}, target, 1e-10);
    }
  }
}

TEST(TargetEntropy, LongRowsAndFloat32) {
  const Sizes sizes{.batch = 1, .heads = 2, .kv_heads = 1, .n_q = 40, .n_k = 300, .d = 16, .d_v = 3};
  for (double target : {0.2, 2.5, 5.5}) {
    check_wanted({.sizes = sizes, .parts = {support::causal(Align::end)}, .seed = 7}, target, 1e-10);
    // A float32 pass computes H to a few eps (1 + log k), eps = 1.2e-7.
    check_wanted({.sizes = sizes, .type = DType::float32, .seed = 8}, target, 16 * 1.2e-7 * (1 + std::log(300.0)));
  }
}

TEST(TargetEntropy, OneTargetForEachHead) {
  Instance x = build({.sizes = kSquare, .seed = 9});
  x.problem.scale = Scale::target_entropy(std::vector<double>{0.5, 2.0});
  x.problem.statistics = isentropic::Statistics::of({isentropic::Statistic::entropy});
  const isentropic::AttentionResult result = attention(x.problem);
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t i = 0; i < kSquare.n_q; ++i) {
      EXPECT_NEAR(result.statistics.entropy.at({b, 0, i}), 0.5, 1e-10);
      EXPECT_NEAR(result.statistics.entropy.at({b, 1, i}), 2.0, 1e-10);
    }
  }
}

// Scores of 1e-30: their squares underflow to 0 in float32, but a scale of 1e30 spreads them like any others.
TEST(TargetEntropy, SmallScores) {
  for (const double amplitude : {1e-15, 1e-12, 1e-6}) {
    check_wanted(
        {.sizes = {.n_q = 5, .n_k = 64, .d = 8, .d_v = 2}, .type = DType::float32, .amplitude = amplitude, .seed = 11},
        2.0, 16 * 1.2e-7 * (1 + std::log(64.0)));
  }
}

TEST(TargetEntropy, EqualScoresAreOutOfReach) {
  Instance x = build({.sizes = {.n_q = 2, .n_k = 6, .d = 3, .d_v = 2}, .amplitude = 0, .seed = 10});
  x.problem.scale = Scale::target_entropy(0.5);
  x.problem.statistics = isentropic::Statistics::of({isentropic::Statistic::entropy});
  const isentropic::AttentionResult result = attention(x.problem);
  EXPECT_EQ(result.rows.solution(0), TargetEntropyStatus::below_reach);
  EXPECT_NEAR(result.statistics.entropy.at({0, 0, 0}), std::log(6.0), 1e-14);
}

}  // namespace
}  // namespace attention_test
