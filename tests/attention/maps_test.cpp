// Every score map, combined with masks, scales and score terms.
#include <cmath>
#include <set>

#include "sweep.hpp"

namespace attention_test {
namespace {

using isentropic::Feature;
using isentropic::LinearForm;
using isentropic::Normaliser;

TEST(Maps, UnderEveryMask) {
  std::uint64_t seed = 900;
  for (const auto& masks : support::mask_combinations()) {
    for (const Part& map : support::score_maps()) {
      check_forward({.sizes = seed % 4 == 0 ? kMoreQueries : kSmall,
                     .parts = joined(masks, {map, support::groups(2, 3)}),
                     .amplitude = 1.5,
                     .seed = ++seed});
    }
  }
}

TEST(Maps, WithEveryScaleAndTerm) {
  const std::vector<std::vector<Part>> terms = {
      {}, {support::soft_cap(0.8)}, {support::alibi()}, {support::dense_bias_with_masked_keys()}};
  std::uint64_t seed = 1000;
  for (const Part& map : support::score_maps()) {
    for (const Part& scale : support::formula_scales()) {
      const auto& extra = terms[seed % terms.size()];
      check_forward(
          {.sizes = kSmall, .parts = joined({support::causal(Align::end), scale, map}, extra), .seed = ++seed});
    }
  }
}

TEST(Maps, EveryLength) {
  std::uint64_t seed = 1100;
  for (const Part& map : support::score_maps()) {
    for (std::int64_t n : kLengths) {
      check_forward({.sizes = {.n_q = 3, .n_k = n, .d = 3, .d_v = kWidths[seed % kWidths.size()]},
                     .parts = {map},
                     .amplitude = 2,
                     .seed = ++seed});
    }
  }
}

TEST(Maps, OddLengths) {
  std::uint64_t seed = 1200;
  for (const Part& map : support::score_maps()) {
    check_forward(
        {.sizes = kOdd, .parts = {support::causal(Align::end), map}, .layout = Layout::interleaved, .seed = ++seed});
  }
}

TEST(LinearMaps, UnderEveryMask) {
  std::uint64_t seed = 1300;
  for (const auto& masks : support::mask_combinations()) {
    if (masks.back().name.starts_with("dense additive")) continue;  // a score term, which these maps do not support
    for (const Part& map : support::linear_maps()) {
      check_forward({.sizes = kSmall, .parts = joined(masks, {map}), .seed = ++seed});
    }
  }
}

TEST(LinearMaps, DecayUnderCausalMasks) {
  std::uint64_t seed = 1400;
  for (const auto& masks : support::causal_combinations()) {
    for (const Part& map : support::decaying_maps()) {
      check_forward({.sizes = kSmall, .parts = joined(masks, {map}), .seed = ++seed});
      check_forward({.sizes = kSquare, .parts = joined(masks, {map}), .seed = ++seed});
    }
  }
}

TEST(LinearMaps, WithEveryScale) {
  std::uint64_t seed = 1500;
  for (const Part& scale : support::formula_scales()) {
    for (const Part& map : {support::linear(Feature::elu_plus_one, Normaliser::none, 0.9),
                            support::linear(Feature::identity, Normaliser::l2, 1)}) {
      check_forward({.sizes = kSmall, .parts = {support::causal(), scale, map}, .seed = ++seed});
    }
  }
}

// The recurrent form returns the quadratic form's result, except for statistics that need every weight.
void check_recurrent(const Case& description) {
  SCOPED_TRACE(description.describe());
  Instance x = build(description);
  x.problem.statistics = isentropic::Statistics::all();
  const isentropic::AttentionResult result = attention(x.problem);
  const reference::Forward expected = reference::forward(x.oracle);
  EXPECT_TRUE(support::close(result.output.to_doubles(), expected.output, support::kTight));
#define ISENTROPIC_CHECK(field)                                                                              \
  if (result.statistics.field.present()) {                                                                   \
    ASSERT_TRUE(expected.statistics.contains(#field)) << #field;                                             \
    EXPECT_TRUE(support::close(result.statistics.field.to_doubles(), expected.statistics.at(#field), 1e-10)) \
        << #field;                                                                                           \
  }
  ISENTROPIC_FOR_EACH_STATISTIC(ISENTROPIC_CHECK)
#undef ISENTROPIC_CHECK
}

// Features whose products underflow a float, but whose normalised weights are ordinary numbers.
TEST(RecurrentForm, SmallFeatures) {
  const float q[] = {1e-20f}, k[] = {1e-20f, 3e-20f}, v[] = {1, 5};
  isentropic::AttentionProblem problem{.query = isentropic::View(q, {1, 1, 1, 1}),
                                       .key = isentropic::View(k, {1, 1, 2, 1}),
                                       .value = isentropic::View(v, {1, 1, 2, 1})};
  problem.map = isentropic::ScoreMap::linear(Feature::relu, Normaliser::l1, 1.0, LinearForm::recurrent);
  problem.statistics = isentropic::Statistics::all();
  const isentropic::AttentionResult result = attention(problem);
  EXPECT_NEAR(result.output.at({0, 0, 0, 0}), 4, 1e-6);                         // weights 1/4 and 3/4
  EXPECT_NEAR(result.statistics.participation.at({0, 0, 0}), 1.6, 1e-6);        // 1 / (1/16 + 9/16)
  EXPECT_NEAR(result.statistics.sparsity.at({0, 0, 0}), std::sqrt(0.8), 1e-6);  // participation = k S^2
}

TEST(RecurrentForm, EqualsTheQuadraticForm) {
  std::uint64_t seed = 1600;
  const std::vector<std::vector<Part>> plain = {{support::unmasked()},
                                                {support::causal()},
                                                {support::causal(Align::end)},
                                                {support::key_lengths()},
                                                {support::causal(Align::end), support::key_lengths()}};
  for (const Sizes& sizes : {kSmall, kSquare, kMoreQueries, kOdd}) {
    for (const auto& masks : plain) {
      for (const Part& map : support::recurrent_maps()) {
        check_recurrent({.sizes = sizes, .parts = joined(masks, {support::log_n(), map}), .seed = ++seed});
      }
      if (!masks[0].name.starts_with("causal")) continue;
      for (const Part& map : support::recurrent_decaying_maps()) {
        check_recurrent({.sizes = sizes, .parts = joined(masks, {map}), .seed = ++seed});
      }
    }
  }
}

// Hand values: one query, three keys with scores 1, 0.5, -1.
TEST(Maps, ByHand) {
  const double q[] = {1}, k[] = {1, 0.5, -1};
  const isentropic::View query(q, {1, 1, 1, 1}), key(k, {1, 1, 3, 1});
  const auto weights = [&](isentropic::ScoreMap map) {
    return attention_weights(
               {.query = query, .key = key, .value = key, .scale = isentropic::Scale::constant(1.0), .map = map}, {0})
        .to_doubles();
  };
  using isentropic::ScoreMap;
  using support::close;
  EXPECT_TRUE(close(weights(ScoreMap::sparsemax()), {0.75, 0.25, 0}, 1e-15));
  EXPECT_TRUE(close(weights(ScoreMap::entmax(2.0)), {0.75, 0.25, 0}, 1e-15));
  EXPECT_TRUE(close(weights(ScoreMap::hard()), {1, 0, 0}, 1e-15));
  EXPECT_TRUE(close(weights(ScoreMap::relu_squared(Normaliser::none)), {1, 0.25, 0}, 1e-15));
  EXPECT_TRUE(close(weights(ScoreMap::relu_squared()), {1.0 / 3, 0.25 / 3, 0}, 1e-15));
  EXPECT_TRUE(close(weights(ScoreMap::identity(Normaliser::none)), {1, 0.5, -1}, 1e-15));
  EXPECT_TRUE(close(weights(ScoreMap::l1()), {0.4, 0.2, -0.4}, 1e-15));
  EXPECT_TRUE(close(weights(ScoreMap::l2()), {1 / 1.5, 0.5 / 1.5, -1 / 1.5}, 1e-15));
  EXPECT_TRUE(close(weights(ScoreMap::sigmoid(-0.5)), {1 / (1 + std::exp(-0.5)), 0.5, 1 / (1 + std::exp(1.5))}, 1e-15));
  EXPECT_TRUE(
      close(weights(ScoreMap::linear(Feature::elu_plus_one, Normaliser::none)), {4, 3, 2 * std::exp(-1.0)}, 1e-15));
}

// The example in score_map.hpp: a key of 1 among three of 0, tau = sqrt(2 log 4) = 1.665.
TEST(Maps, SharpenedFeaturesByHand) {
  const double q[] = {0.3}, k[] = {0, 1, 0, 0};
  isentropic::AttentionProblem problem{.query = isentropic::View(q, {1, 1, 1, 1}),
                                       .key = isentropic::View(k, {1, 1, 4, 1}),
                                       .value = isentropic::View(k, {1, 1, 4, 1})};
  problem.map = isentropic::ScoreMap::linear(Feature::exp, Normaliser::l1, 1.0, LinearForm::quadratic, 1.0);
  const double e = std::exp(std::sqrt(2 * std::log(4.0)));
  EXPECT_NEAR(e, 5.286, 1e-3);
  EXPECT_TRUE(support::close(attention_weights(problem, {0}).to_doubles(),
                             {1 / (e + 3), e / (e + 3), 1 / (e + 3), 1 / (e + 3)}, 1e-14));
  EXPECT_DOUBLE_EQ(problem.map.key_factor(4), std::sqrt(2 * std::log(4.0)));
  EXPECT_EQ(problem.map.key_factor(1), 0);
  EXPECT_EQ(isentropic::ScoreMap::linear(Feature::exp).key_factor(4), 1);
}

// The example in attention.hpp: weights 3/4 and 1/4 at alpha = 2, for the scores 1/2 and 0.
TEST(Maps, WeightsMoveWithAlphaByHand) {
  const double q[] = {1}, k[] = {0.5, 0}, v[] = {1, 0}, one[] = {1};
  isentropic::AttentionProblem problem{.query = isentropic::View(q, {1, 1, 1, 1}),
                                       .key = isentropic::View(k, {1, 1, 2, 1}),
                                       .value = isentropic::View(v, {1, 1, 2, 1}),
                                       .scale = isentropic::Scale::constant(1.0)};
  const auto gradient = [&](double alpha) {
    problem.map = isentropic::ScoreMap::entmax(alpha);
    return attention_backward(problem, attention(problem), {.output = isentropic::View(one, {1, 1, 1, 1})})
        .alpha.at({0});
  };
  const double h1 = -0.75 * std::log(0.75), h2 = -0.25 * std::log(0.25);
  EXPECT_NEAR(gradient(2), 0.25 + h1 - (h1 + h2) / 2, 1e-14);
  EXPECT_NEAR(gradient(2), 0.185, 1e-3);
  // Softmax is the limit, where d a_1 / d alpha = a_1 (sum_k a_k log^2 a_k - log^2 a_1) / 2.
  const double a = 1 / (1 + std::exp(-0.5)), b = 1 - a, l = std::log(a), m = std::log(b);
  EXPECT_NEAR(gradient(1 + 1e-7), a * (a * l * l + b * m * m - l * l) / 2, 1e-6);
}

TEST(Maps, TiesOfTopKGoToTheLowestIndex) {
  const double q[] = {1}, k[] = {0, 2, 2, 2, 1};
  const isentropic::View query(q, {1, 1, 1, 1}), key(k, {1, 1, 5, 1});
  const isentropic::AttentionResult result =
      attention({.query = query, .key = key, .value = key, .map = isentropic::ScoreMap::top_k(2)});
  const auto selected = result.selected.values<std::int64_t>();
  EXPECT_EQ((std::set<std::int64_t>(selected.begin(), selected.end())), (std::set<std::int64_t>{1, 2}));
}

TEST(Maps, NamesAndKinds) {
  using isentropic::ScoreMap;
  EXPECT_EQ(ScoreMap::softmax().name(), "softmax");
  EXPECT_EQ(ScoreMap::hard().keys(), 1);
  EXPECT_TRUE(ScoreMap::top_k(3).is_softmax());
  EXPECT_FALSE(ScoreMap::top_k(3).streams());
  EXPECT_TRUE(ScoreMap::sparsemax().is_distribution());
  EXPECT_FALSE(ScoreMap::sparsemax().is_softmax());
  EXPECT_TRUE(ScoreMap::entmax(1.5).is_distribution());
  EXPECT_TRUE(ScoreMap::relu_squared(Normaliser::l1).is_distribution());
  EXPECT_FALSE(ScoreMap::relu_squared(Normaliser::visible).is_distribution());
  EXPECT_FALSE(ScoreMap::l1().is_distribution());
  EXPECT_TRUE(ScoreMap::linear(Feature::relu).is_distribution());
  EXPECT_FALSE(ScoreMap::linear(Feature::identity).is_distribution());
  EXPECT_TRUE(ScoreMap::decay(0.9).is_distribution());
}

}  // namespace
}  // namespace attention_test
