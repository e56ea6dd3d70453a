// Soft cap, biases and sinks, alone and together, over masks, scales and softmax maps.
#include <cmath>

#include "sweep.hpp"

namespace attention_test {
namespace {

std::vector<std::vector<Part>> term_combinations() {
  using namespace support;
  return {{soft_cap(0.7)},
          {soft_cap(30)},
          {dense_bias()},
          {dense_bias(Repeat::batch)},
          {dense_bias(Repeat::heads)},
          {dense_bias(Repeat::rows)},
          {dense_bias_with_masked_keys()},
          {alibi()},
          {relative(2)},
          {relative(0)},
          {relative(30, Repeat::heads)},
          {sink()},
          {soft_cap(0.9), alibi(), sink()},
          {soft_cap(1.3), dense_bias_with_masked_keys(), sink()},
          {relative(3), sink()}};
}

TEST(Terms, EveryCombinationUnderEveryMask) {
  std::uint64_t seed = 600;
  for (const auto& masks : support::mask_combinations()) {
    for (const auto& terms : term_combinations()) {
      const Sizes& sizes = seed % 3 == 0 ? kMoreQueries : kSmall;
      check_forward({.sizes = sizes, .parts = joined(masks, joined(terms, {support::groups(1, 2)})), .seed = ++seed});
    }
  }
}

TEST(Terms, WithEveryScale) {
  std::uint64_t seed = 700;
  for (const Part& scale : support::formula_scales()) {
    for (const auto& terms : term_combinations()) {
      check_forward({.sizes = kSmall, .parts = joined({support::causal(Align::end), scale}, terms), .seed = ++seed});
    }
  }
}

TEST(Terms, OddLengths) {
  std::uint64_t seed = 800;
  for (const auto& terms : term_combinations()) {
    check_forward({.sizes = kOdd,
                   .parts = joined({support::causal(Align::end), support::sqrt_log_n()}, terms),
                   .layout = Layout::interleaved,
                   .seed = ++seed});
  }
}

TEST(Terms, SinkWithGumbel) {
  check_forward({.sizes = kSmall, .parts = {support::causal(), support::gumbel(0.8), support::sink()}, .seed = 1});
}

// Sinks far above and far below the scores: they take all the mass, or none.
TEST(Terms, ExtremeSinks) {
  for (double logit : {-1e4, -40.0, 40.0, 1e4}) {
    Instance x = build({.sizes = kSmall, .parts = {support::causal()}, .seed = 3});
    x.problem.sink = logit;
    x.oracle.sink.assign(4, logit);
    SCOPED_TRACE(logit);
    expect_forward(x);
  }
}

// A row that sees no key gives all its mass to the sink.
TEST(Terms, SinkOfAnEmptyRow) {
  Instance x = build({.sizes = {.batch = 2, .heads = 2, .kv_heads = 1, .n_q = 3, .n_k = 4, .d = 2, .d_v = 2},
                      .parts = {support::key_lengths({0, 3}), support::sink()},
                      .seed = 4});
  expect_forward(x);
}

TEST(Terms, WeightsAndSinkShareOne) {
  Instance x = build({.sizes = kSmall, .parts = {support::sink()}, .seed = 5});
  x.problem.statistics = isentropic::Statistics::of({isentropic::Statistic::sink_mass});
  const isentropic::AttentionResult result = attention(x.problem);
  const isentropic::Tensor weights = attention_weights(x.problem, support::all_rows(kSmall.n_q));
  for (std::int64_t b = 0; b < kSmall.batch; ++b) {
    for (std::int64_t h = 0; h < kSmall.heads; ++h) {
      for (std::int64_t i = 0; i < kSmall.n_q; ++i) {
        double sum = result.statistics.sink_mass.at({b, h, i});
        for (std::int64_t j = 0; j < kSmall.n_k; ++j) sum += weights.at({b, h, i, j});
        EXPECT_NEAR(sum, 1, 1e-14);
      }
    }
  }
}

}  // namespace
}  // namespace attention_test
