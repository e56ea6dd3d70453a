// Two-level attention, the chain rule of entropy, and segments.
#include "isentropic/hierarchical_attention.hpp"

#include <cmath>

#include "reference/hierarchical.hpp"
#include "sweep.hpp"

namespace attention_test {
namespace {

using isentropic::BlockScore;
using isentropic::HierarchicalProblem;
using isentropic::HierarchicalResult;
using support::close;
using support::kTight;
using support::Numbers;

struct Both {
  HierarchicalProblem problem;
  reference::Hierarchical oracle;
};

Both both(const Instance& x, std::int64_t block, BlockScore score) {
  Both out{{.attention = x.problem, .block = block, .score = score}, {}};
  out.oracle.attention = x.oracle;
  out.oracle.block = block;
  out.oracle.score =
      score == BlockScore::mean_key ? reference::BlockScore::mean_key : reference::BlockScore::log_partition;
  return out;
}

const std::vector<std::vector<Part>> kSettings = {{support::unmasked()},
                                                  {support::causal()},
                                                  {support::causal(Align::end), support::log_n()},
                                                  {support::window(3, 1), support::alibi()},
                                                  {support::key_lengths()},
                                                  {support::dense_boolean()},
                                                  {support::dense_boolean(), support::soft_cap(1.4)}};

// mean_key supports plain scores only.
bool allowed(const std::vector<Part>& parts, BlockScore score) {
  return score == BlockScore::log_partition || parts.size() == 1 || parts[1].name == "log_n";
}

TEST(Hierarchical, MeetsTheOracle) {
  std::uint64_t seed = 9000;
  for (BlockScore score : {BlockScore::log_partition, BlockScore::mean_key}) {
    for (const auto& parts : kSettings) {
      if (!allowed(parts, score)) continue;
      for (std::int64_t block : {1, 2, 4, 9, 64}) {
        Case description{.sizes = kSmall, .parts = parts, .layout = Layout::interleaved, .seed = ++seed};
        SCOPED_TRACE(testing::Message() << description.describe() << ", blocks of " << block);
        const Instance x = build(description);
        const Both sides = both(x, block, score);
        const HierarchicalResult result = hierarchical_attention(sides.problem);
        const reference::HierarchicalForward expected = hierarchical(sides.oracle);
        EXPECT_TRUE(close(result.output.to_doubles(), expected.output, kTight)) << "output";
        EXPECT_TRUE(close(result.entropy.to_doubles(), expected.entropy, kTight)) << "entropy";
        EXPECT_TRUE(close(result.block_entropy.to_doubles(), expected.block_entropy, kTight)) << "block entropy";
        EXPECT_TRUE(close(result.within_entropy.to_doubles(), expected.within_entropy, kTight)) << "within entropy";
      }
    }
  }
}

TEST(Hierarchical, BlockScalesAreLaws) {
  const Instance x = build({.sizes = kSmall, .seed = 9100});
  Both sides = both(x, 2, BlockScore::mean_key);
  sides.problem.block_scale = isentropic::Scale::ssmax(0.8);
  sides.oracle.block_scale = {reference::Law::ssmax, {Numbers(4, 0.8)}, 0, {}};
  EXPECT_TRUE(
      close(hierarchical_attention(sides.problem).output.to_doubles(), hierarchical(sides.oracle).output, kTight));
}

// With blocks scored by their log-partition the result is flat attention, and the chain rule gives its entropy.
TEST(Hierarchical, ScoredByLogPartitionIsFlat) {
  std::uint64_t seed = 9200;
  for (const auto& parts : kSettings) {
    for (const Sizes& sizes : {kSmall, kOdd}) {
      Case description{.sizes = sizes, .parts = parts, .seed = ++seed};
      SCOPED_TRACE(description.describe());
      const Instance x = build(description);
      const reference::Forward flat = reference::forward(x.oracle);
      const HierarchicalResult result = hierarchical_attention(both(x, 16, BlockScore::log_partition).problem);
      EXPECT_TRUE(close(result.output.to_doubles(), flat.output, kTight));
      EXPECT_TRUE(close(result.entropy.to_doubles(), flat.statistics.at("entropy"), kTight));
    }
  }
}

TEST(Hierarchical, Gradients) {
  const Sizes sizes{.batch = 2, .heads = 2, .kv_heads = 1, .n_q = 3, .n_k = 5, .d = 3, .d_v = 2};
  std::uint64_t seed = 9300;
  for (BlockScore score : {BlockScore::log_partition, BlockScore::mean_key}) {
    for (const auto& parts : kSettings) {
      if (!allowed(parts, score)) continue;
      Case description{.sizes = sizes, .parts = parts, .seed = ++seed};
      SCOPED_TRACE(description.describe());
      Instance x = build(description);
      Both sides = both(x, 2, score);
      Numbers upstream = x.random.normals(2 * 2 * 3 * 2);
      const isentropic::View view = x.store(&upstream, {2, 2, 3, 2});
      const auto loss = [&] {
        const Numbers output = hierarchical(sides.oracle).output;
        double sum = 0;
        for (std::size_t n = 0; n < output.size(); ++n) sum += upstream[n] * output[n];
        return sum;
      };
      const isentropic::HierarchicalGradients gradients =
          hierarchical_attention_backward(sides.problem, hierarchical_attention(sides.problem), view);
      const auto difference = [&](Numbers* numbers) { return reference::finite_difference(numbers, loss); };
      EXPECT_TRUE(close(gradients.query.to_doubles(), difference(&sides.oracle.attention.query), 1e-9)) << "query";
      EXPECT_TRUE(close(gradients.key.to_doubles(), difference(&sides.oracle.attention.key), 1e-9)) << "key";
      EXPECT_TRUE(close(gradients.value.to_doubles(), difference(&sides.oracle.attention.value), 1e-9)) << "value";
    }
  }
}

TEST(Hierarchical, InNarrowTypes) {
  for (BlockScore score : {BlockScore::log_partition, BlockScore::mean_key}) {
    for (DType type : {DType::float32, DType::bfloat16, DType::float16}) {
      const Instance x = build({.sizes = kSmall, .parts = {support::causal(Align::end)}, .type = type, .seed = 9350});
      const Both sides = both(x, 4, score);
      const HierarchicalResult result = hierarchical_attention(sides.problem);
      const reference::HierarchicalForward expected = hierarchical(sides.oracle);
      EXPECT_EQ(result.output.type(), type);
      EXPECT_EQ(result.entropy.type(), DType::float32);
      // Block outputs, mean keys and the output itself are each rounded to the type once.
      const double eps = type == DType::float32 ? 1e-6 : type == DType::bfloat16 ? 0x1p-8 : 0x1p-11;
      EXPECT_TRUE(close(result.output.to_doubles(), expected.output, 2 * eps));
      EXPECT_TRUE(close(result.entropy.to_doubles(), expected.entropy, 2 * eps));
    }
  }
}

// Segmented attention equals attention on each segment separately.
TEST(Segments, AreProblemsOfTheirOwn) {
  const std::int64_t n = 11, segment = 4;
  Instance x = build({.sizes = {.batch = 2, .heads = 2, .kv_heads = 1, .n_q = n, .n_k = n, .d = 3, .d_v = 2},
                      .parts = {support::causal(), support::ssmax(), support::segments(segment)},
                      .seed = 9400});
  const isentropic::Tensor whole = attention(x.problem).output;
  for (std::int64_t begin = 0; begin < n; begin += segment) {
    const std::int64_t end = std::min(begin + segment, n);
    isentropic::AttentionProblem part = x.problem;
    part.mask = isentropic::Mask::causal();
    part.query = part.query.slice(2, begin, end);
    part.key = part.key.slice(2, begin, end);
    part.value = part.value.slice(2, begin, end);
    const isentropic::Tensor output = attention(part).output;
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t h = 0; h < 2; ++h) {
        for (std::int64_t i = begin; i < end; ++i) {
          EXPECT_NEAR(whole.at({b, h, i, 1}), output.at({b, h, i - begin, 1}), 1e-13);
        }
      }
    }
  }
}

}  // namespace
}  // namespace attention_test
