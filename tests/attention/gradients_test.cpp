// Gradients against finite differences of the oracle: every mask, scale, term and map, with random upstream gradients
// of the output and of L, H, E, V and sum p^2.
#include <cmath>

#include "sweep.hpp"

namespace attention_test {
namespace {

using isentropic::TargetEntropyGradient;
using isentropic::View;
using support::UpstreamParts;

const Sizes kTiny{.batch = 2, .heads = 2, .kv_heads = 1, .n_q = 3, .n_k = 5, .d = 3, .d_v = 2};
const Sizes kTinySquare{.batch = 1, .heads = 2, .kv_heads = 2, .n_q = 5, .n_k = 5, .d = 2, .d_v = 3};

void check(const Case& description, UpstreamParts parts = UpstreamParts::both) {
  SCOPED_TRACE(description.describe());
  Instance x = build(description);
  support::expect_gradients(x, parts);
}

TEST(Gradients, UnderEveryMask) {
  std::uint64_t seed = 3000;
  for (const auto& masks : support::mask_combinations()) {
    check({.sizes = kTiny, .parts = joined(masks, {support::log_n()}), .seed = ++seed});
    check({.sizes = kTinySquare, .parts = masks, .layout = Layout::interleaved, .seed = ++seed});
  }
}

TEST(Gradients, OfEveryScale) {
  std::uint64_t seed = 3100;
  for (const Part& scale : support::formula_scales()) {
    check({.sizes = kTiny, .parts = {scale}, .seed = ++seed});
    check({.sizes = kTiny, .parts = {support::causal(), scale}, .seed = ++seed});
  }
}

TEST(Gradients, OfEveryTerm) {
  using namespace support;
  const std::vector<std::vector<Part>> terms = {{soft_cap(0.8)},
                                                {dense_bias()},
                                                {dense_bias(Repeat::batch)},
                                                {dense_bias(Repeat::heads)},
                                                {dense_bias(Repeat::rows)},
                                                {dense_bias_with_masked_keys()},
                                                {alibi()},
                                                {relative(1)},
                                                {relative(8, Repeat::heads)},
                                                {sink()},
                                                {soft_cap(1.2), alibi(), sink()},
                                                {soft_cap(0.9), dense_bias(), sink(), ssmax()}};
  const std::vector<std::vector<Part>> masks = {{unmasked()}, {causal()}, {causal(Align::end), documents()}};
  std::uint64_t seed = 3200;
  for (const auto& mask : masks) {
    for (const auto& term : terms) check({.sizes = kTiny, .parts = joined(mask, term), .seed = ++seed});
  }
}

TEST(Gradients, OfEachUpstreamAlone) {
  for (UpstreamParts parts : {UpstreamParts::output, UpstreamParts::statistics}) {
    check({.sizes = kTiny, .parts = {support::causal(), support::sink()}, .seed = 3300}, parts);
    check({.sizes = kTiny, .parts = {support::top_k(3)}, .seed = 3301}, parts);
    check({.sizes = kTiny, .parts = {support::gumbel(0.7)}, .seed = 3302}, parts);
  }
}

TEST(Gradients, OfEveryMap) {
  std::uint64_t seed = 3400;
  const std::vector<std::vector<Part>> settings = {{support::unmasked()},
                                                   {support::causal(Align::end), support::ssmax()},
                                                   {support::dense_boolean(), support::soft_cap(1.1)},
                                                   {support::causal(), support::alibi()}};
  for (const auto& setting : settings) {
    for (const Part& map : support::score_maps()) {
      check({.sizes = kTiny, .parts = joined(setting, {map}), .amplitude = 1.3, .seed = ++seed});
    }
  }
}

TEST(Gradients, OfLinearMaps) {
  std::uint64_t seed = 3500;
  // A lambda of 0, e.g. from log 1, would leave a row without weights, where l1 and l2 have no derivative.
  const std::vector<std::vector<Part>> settings = {{support::unmasked()},
                                                   {support::causal(), support::constant_scale_per_head()}};
  for (const auto& setting : settings) {
    for (const Part& map : support::linear_maps()) {
      check({.sizes = kTiny, .parts = joined(setting, {map}), .seed = ++seed});
    }
  }
  for (const Part& map : support::decaying_maps()) {
    check({.sizes = kTiny, .parts = {support::causal(), support::constant_scale_per_head(), map}, .seed = ++seed});
  }
}

TEST(Gradients, OfRecurrentForms) {
  std::uint64_t seed = 3600;
  for (const Part& map : support::recurrent_maps()) {
    check({.sizes = kTiny, .parts = {map}, .seed = ++seed});
    check(
        {.sizes = kTinySquare, .parts = {support::causal(), support::constant_scale_per_head(), map}, .seed = ++seed});
  }
  for (const Part& map : support::recurrent_decaying_maps()) {
    check({.sizes = kTiny, .parts = {support::causal(Align::end), map}, .seed = ++seed});
  }
}

TEST(Gradients, ThroughDropout) {
  std::uint64_t seed = 3700;
  for (const Part& map : support::score_maps()) {
    if (map.name.find("straight") != std::string::npos) continue;
    check({.sizes = kTiny, .parts = {support::causal(Align::end), map, support::dropout(0.4, 77)}, .seed = ++seed});
  }
  check({.sizes = kTiny, .parts = {support::sink(), support::dropout(0.3, 78)}, .seed = ++seed});
}

// The solver stops at an entropy within about 1e-12 of the target, so lambda's error is that divided by V.
TEST(Gradients, OfATargetEntropyTakenAsAConstant) {
  check({.sizes = kTiny, .parts = {support::target_entropy(1.0)}, .seed = 3800});
  check({.sizes = kTinySquare, .parts = {support::causal(), support::target_entropy(0.5)}, .seed = 3801});
}

TEST(Gradients, OfATargetEntropyThroughItsEquation) {
  const auto implicit = [](double target) { return support::target_entropy(target, TargetEntropyGradient::implicit); };
  for (std::uint64_t seed : {3900, 3901, 3902}) {
    check({.sizes = kTiny, .parts = {implicit(1.0)}, .seed = seed}, UpstreamParts::output);
    check({.sizes = kTiny, .parts = {implicit(1.2)}, .seed = seed}, UpstreamParts::both);
    check({.sizes = kTiny, .parts = {support::sink(), implicit(0.7)}, .seed = seed}, UpstreamParts::both);
  }
}

// H is held at the target whatever queries and keys do: no gradient flows.
TEST(Gradients, OfAnEntropyHeldFixedAreZero) {
  Instance x =
      build({.sizes = kTiny, .parts = {support::target_entropy(1.0, TargetEntropyGradient::implicit)}, .seed = 3950});
  support::Numbers upstream = x.random.normals(2 * 2 * 3);
  x.problem.statistics = isentropic::Statistics::all();
  const isentropic::AttentionUpstream entropy{.entropy = x.store(&upstream, {2, 2, 3})};
  const isentropic::AttentionGradients gradients = attention_backward(x.problem, attention(x.problem), entropy);
  EXPECT_TRUE(support::close(gradients.query.to_doubles(), support::Numbers(2 * 2 * 3 * 3, 0), 1e-11));
  EXPECT_TRUE(support::close(gradients.key.to_doubles(), support::Numbers(2 * 5 * 3, 0), 1e-11));
}

// Rows out of reach have a fixed lambda.
TEST(Gradients, OfRowsOutOfReach) {
  check({.sizes = kTinySquare,
         .parts = {support::causal(), support::target_entropy(1.2, TargetEntropyGradient::implicit)},
         .seed = 3960},
        UpstreamParts::output);
}

// A forward pass that kept the statistics differentiated here is enough; a missing one is an error, not a zero.
TEST(Gradients, NeedTheStatisticsTheyDifferentiate) {
  using isentropic::Statistic;
  using isentropic::Statistics;
  Instance x = build({.sizes = kSmall, .parts = {support::causal(), support::sink()}, .seed = 3970});
  const support::RandomUpstream upstream(x, UpstreamParts::both);
  const auto run = [&](const Statistics& kept, const isentropic::AttentionUpstream& views) {
    x.problem.statistics = kept;
    return attention_backward(x.problem, attention(x.problem), views);
  };
  const auto check_enough = [&](Statistic statistic, View isentropic::AttentionUpstream::*part) {
    SCOPED_TRACE(isentropic::name(statistic));
    isentropic::AttentionUpstream views{.output = upstream.views.output};
    views.*part = upstream.views.*part;
    const auto few = run(Statistics::of({statistic}), views), all = run(Statistics::all(), views);
    EXPECT_TRUE(support::close(few.query.to_doubles(), all.query.to_doubles(), support::kTight));
    EXPECT_TRUE(support::close(few.key.to_doubles(), all.key.to_doubles(), support::kTight));
    EXPECT_TRUE(support::close(few.value.to_doubles(), all.value.to_doubles(), support::kTight));
    EXPECT_TRUE(support::close(few.sink.to_doubles(), all.sink.to_doubles(), support::kTight));
  };
  check_enough(Statistic::log_partition, &isentropic::AttentionUpstream::log_partition);
  check_enough(Statistic::entropy, &isentropic::AttentionUpstream::entropy);
  check_enough(Statistic::mean_score, &isentropic::AttentionUpstream::mean_score);
  check_enough(Statistic::score_variance, &isentropic::AttentionUpstream::score_variance);
  check_enough(Statistic::collision, &isentropic::AttentionUpstream::collision);
  EXPECT_NO_THROW(run(Statistics::none(), {.output = upstream.views.output}));
  EXPECT_NO_THROW(run(Statistics::none(), {.log_partition = upstream.views.log_partition}));
  EXPECT_THROW(run(Statistics::none(), {.entropy = upstream.views.entropy}), isentropic::Error);
  EXPECT_THROW(run(Statistics::of({Statistic::entropy}), {.collision = upstream.views.collision}), isentropic::Error);
}

TEST(Gradients, OfABiasAreSkippedOnRequest) {
  Instance x = build({.sizes = kTiny, .parts = {support::dense_bias()}, .seed = 3980});
  const support::RandomUpstream upstream(x, UpstreamParts::output);
  const isentropic::AttentionGradients gradients =
      attention_backward(x.problem, attention(x.problem), upstream.views, isentropic::BiasGradient::skip);
  EXPECT_FALSE(gradients.bias.present());
  EXPECT_TRUE(gradients.query.present());
}

// Sizes of several blocks, against the dense chain rule.
TEST(Gradients, AtLength) {
  using namespace support;
  const std::vector<std::vector<Part>> settings = {{causal(Align::end), log_n()},
                                                   {window(30, 7), soft_cap(2), dense_bias(Repeat::heads), sink()},
                                                   {documents(), causal(), ssmax()},
                                                   {dense_boolean(Repeat::heads), dense_bias(Repeat::rows)},
                                                   {top_k(11), causal(Align::end)}};
  std::uint64_t seed = 4000;
  for (const auto& setting : settings) {
    for (const Sizes& sizes :
         {Sizes{.batch = 1, .heads = 2, .kv_heads = 1, .n_q = 65, .n_k = 33, .d = 5, .d_v = 7},
          Sizes{.batch = 1, .heads = 2, .kv_heads = 1, .n_q = 113, .n_k = 203, .d = 16, .d_v = 3}}) {
      Case description{.sizes = sizes, .parts = setting, .layout = Layout::interleaved, .seed = ++seed};
      SCOPED_TRACE(description.describe());
      Instance x = build(description);
      expect_dense_gradients(x);
    }
  }
}

}  // namespace
}  // namespace attention_test
