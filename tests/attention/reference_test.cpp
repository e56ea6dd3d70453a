// The oracle itself: masks against pictures, maps against hand-computed values, the chain rule against differences.
#include "reference/gradients.hpp"
#include "reference/mask.hpp"
#include "reference/scores.hpp"
#include "reference/weights.hpp"
#include "sweep.hpp"

namespace attention_test {
namespace {

using reference::Numbers;
using reference::Problem;

using Picture = std::vector<std::string>;

Picture picture(const Problem& problem, std::int64_t b = 0) {
  Picture out;
  for (std::int64_t i = 0; i < problem.n_q; ++i) {
    std::string row;
    for (std::int64_t j = 0; j < problem.n_k; ++j) row += visible(problem, b, 0, i, j) ? 'x' : '.';
    out.push_back(row);
  }
  return out;
}

Picture masked(std::int64_t n_q, std::int64_t n_k, const reference::Mask& mask, std::int64_t batch = 1) {
  Problem problem;
  problem.batch = batch;
  problem.n_q = n_q;
  problem.n_k = n_k;
  problem.mask = mask;
  return picture(problem, batch - 1);
}

constexpr auto kEnd = reference::Align::end;

TEST(ReferenceMask, Pictures) {
  EXPECT_EQ(masked(3, 5, {.causal = true}), (Picture{"x....", "xx...", "xxx.."}));
  EXPECT_EQ(masked(3, 5, {.causal = true, .align = kEnd}), (Picture{"xxx..", "xxxx.", "xxxxx"}));
  EXPECT_EQ(masked(4, 2, {.causal = true, .align = kEnd}), (Picture{"..", "..", "x.", "xx"}));
  EXPECT_EQ(masked(4, 4, {.has_window = true, .left = 2, .right = 1}), (Picture{"xx..", "xxx.", ".xxx", "..xx"}));
  EXPECT_EQ(masked(4, 4, {.causal = true, .has_window = true, .left = 2, .prefix = 1}),
            (Picture{"x...", "xx..", "xxx.", "x.xx"}));
  EXPECT_EQ(masked(3, 4, {.causal = true, .prefix = 2}), (Picture{"xx..", "xx..", "xxx."}));
  EXPECT_EQ(masked(3, 3, {.exclude_self = true}), (Picture{".xx", "x.x", "xx."}));
  EXPECT_EQ(masked(3, 3, {.excluded_keys = {2, -1, 0}}), (Picture{"xx.", "xxx", ".xx"}));
  EXPECT_EQ(masked(5, 5, {.stride = 3, .local = 1}), (Picture{"x..x.", ".x..x", "..x..", "x..x.", ".x..x"}));
  EXPECT_EQ(masked(2, 4, {.causal = true, .align = kEnd, .key_lengths = {4, 3}}, 2), (Picture{"xx..", "xxx."}));
  EXPECT_EQ(masked(3, 4, {.blocks = {1, 0, 0, 1}, .block_q = 2, .block_k = 2}), (Picture{"xx..", "xx..", "..xx"}));
}

TEST(ReferenceMask, PicturesOfDocuments) {
  EXPECT_EQ(masked(4, 4, {.causal = true, .documents = {{{0, 1, 4}, {0, 1, 4}}}}),
            (Picture{"x...", ".x..", ".xx.", ".xxx"}));
  // Two queries at the end of three keys; then one query and two keys.
  EXPECT_EQ(masked(3, 5, {.causal = true, .align = kEnd, .documents = {{{0, 2, 3}, {0, 3, 5}}}}),
            (Picture{"xx...", "xxx..", "...xx"}));
  EXPECT_EQ(masked(3, 5, {.causal = true, .documents = {{{0, 2, 3}, {0, 3, 5}}}}),
            (Picture{"x....", "xx...", "...x."}));
  // The prefix counts from the document's first key. Queries and keys outside all documents see nothing.
  EXPECT_EQ(masked(4, 4, {.causal = true, .prefix = 1, .documents = {{{0, 2, 3}, {0, 2, 3}}}}),
            (Picture{"x...", "xx..", "..x.", "...."}));
  EXPECT_EQ(masked(4, 4, {.segment = 3}), (Picture{"xxx.", "xxx.", "xxx.", "...x"}));
  EXPECT_EQ(masked(2, 5, {.causal = true, .align = kEnd, .segment = 2}), (Picture{"..xx.", "....x"}));
}

TEST(ReferenceMaps, ByHand) {
  const std::vector<char> seen = {1, 1, 0, 1};
  // sparsemax(1, 0.5, ., -1): threshold (1.5 - 1) / 2 = 0.25.
  EXPECT_TRUE(support::close(reference::sparsemax({1, 0.5, 9, -1}, seen), {0.75, 0.25, 0, 0}, 1e-15));
  EXPECT_TRUE(support::close(reference::softmax({0, std::log(3.0), 9, 0}, seen), {0.2, 0.6, 0, 0.2}, 1e-15));
  EXPECT_EQ(reference::largest({2, 5, 9, 5}, seen, 1), (std::vector<reference::Index>{1}));
  EXPECT_EQ(reference::largest({5, 2, 9, 5}, seen, 2), (std::vector<reference::Index>{0, 3}));
  EXPECT_EQ(reference::argmax({5, 5, 9, 5}, seen), 0);
  EXPECT_NEAR(reference::solve_entropy({0, 1}, std::log(4.0) - 0.75 * std::log(3.0)), std::log(3.0), 1e-12);
}

TEST(ReferenceScales, ByHand) {
  const auto law = [](reference::Law which, std::vector<Numbers> parameters, std::int64_t length = 0) {
    return reference::law_value({which, parameters, length, {}}, {1024, 64, 8191, 0});
  };
  EXPECT_NEAR(law(reference::Law::log_n, {{1}}), 0.10830, 5e-6);
  EXPECT_NEAR(law(reference::Law::inverse_sqrt_d, {}), 0.125, 1e-15);
  EXPECT_NEAR(law(reference::Law::trained_length, {}, 32), 0.25, 1e-15);
  EXPECT_NEAR(law(reference::Law::trained_length, {}, 2048), 0.125, 1e-15);
  EXPECT_NEAR(law(reference::Law::llama4, {{0.1}}, 8192), 0.125 * (1 + 0.1 * std::log(2.0)), 1e-15);
  EXPECT_NEAR(law(reference::Law::ssmax, {{0.43}}), 0.43 * 10 * std::log(2.0), 1e-14);
  EXPECT_NEAR(law(reference::Law::yarn, {{1}, {1}}), 0.125, 1e-15);
}

// The two gradient oracles are independent of each other.
TEST(ReferenceGradients, ChainRuleAgreesWithDifferences) {
  using support::UpstreamParts;
  const std::vector<std::vector<Part>> cases = {
      {},
      {support::causal(), support::soft_cap(1.5), support::dense_bias(), support::sink()},
      {support::dense_boolean(), support::top_k(3)},
      {support::dense_additive(), support::log_n(), support::sink()}};
  for (const auto& parts : cases) {
    Case description{.sizes = {.batch = 2, .heads = 2, .kv_heads = 1, .n_q = 4, .n_k = 5, .d = 3, .d_v = 2},
                     .parts = parts,
                     .seed = 12};
    SCOPED_TRACE(description.describe());
    Instance x = build(description);
    x.oracle.dropout = 0.25;
    for (std::size_t c = 0; c < 2 * 2 * 4 * 5; ++c) x.oracle.keep.push_back(x.random.uniform() < 0.75);
    const support::RandomUpstream upstream(x, UpstreamParts::both);
    const reference::DenseGradients dense = dense_gradients(x.oracle, upstream.oracle);
    const auto differences = [&](const Problem& problem, const reference::Member& member) {
      return finite_difference(problem, upstream.oracle, member);
    };
    EXPECT_TRUE(
        support::close(dense.query, differences(x.oracle, [](Problem& p) -> Numbers& { return p.query; }), 1e-9));
    EXPECT_TRUE(support::close(dense.key, differences(x.oracle, [](Problem& p) -> Numbers& { return p.key; }), 1e-9));
    EXPECT_TRUE(
        support::close(dense.value, differences(x.oracle, [](Problem& p) -> Numbers& { return p.value; }), 1e-9));
    EXPECT_TRUE(support::close(
        dense.lambda, differences(with_explicit_scale(x.oracle), [](Problem& p) -> Numbers& { return p.scale.rows; }),
        1e-9));
    if (x.oracle.bias.kind == reference::BiasKind::dense) {
      EXPECT_TRUE(support::close(dense.score,
                                 differences(x.oracle, [](Problem& p) -> Numbers& { return p.bias.dense; }), 1e-9));
    }
    if (!x.oracle.sink.empty()) {
      EXPECT_TRUE(
          support::close(dense.sink, differences(x.oracle, [](Problem& p) -> Numbers& { return p.sink; }), 1e-9));
    }
  }
}

}  // namespace
}  // namespace attention_test
