// Empty rows, empty problems, strides, shared heads.
#include <cmath>
#include <limits>

#include "sweep.hpp"

namespace attention_test {
namespace {

using isentropic::AttentionResult;
using isentropic::Mask;
using isentropic::Statistics;
using isentropic::View;
using support::Numbers;

TEST(EmptyRows, HaveADefinedResult) {
  for (const Part& map : support::score_maps()) {
    for (DType type : {DType::float64, DType::float32}) {
      Case description{.sizes = {.batch = 2, .heads = 2, .kv_heads = 1, .n_q = 3, .n_k = 4, .d = 2, .d_v = 2},
                       .parts = {support::key_lengths({0, 4}), map},
                       .type = type,
                       .seed = 41};
      SCOPED_TRACE(description.describe());
      Instance x = build(description);
      x.problem.statistics = Statistics::all();
      const AttentionResult result = attention(x.problem);
#define ISENTROPIC_CHECK(field)                                                                                   \
  if (result.statistics.field.present()) {                                                                        \
    const std::string name = #field;                                                                              \
    const double empty = name == "log_partition" || name == "max_score" ? -kInfinity : name == "argmax" ? -1 : 0; \
    EXPECT_EQ(result.statistics.field.at({0, 1, 2}), empty) << name;                                              \
    EXPECT_TRUE(std::isfinite(result.statistics.field.at({1, 1, 2}))) << name;                                    \
  }
      ISENTROPIC_FOR_EACH_STATISTIC(ISENTROPIC_CHECK)
#undef ISENTROPIC_CHECK
      EXPECT_EQ(result.output.at({0, 0, 0, 0}), 0);
      EXPECT_EQ(result.output.at({0, 1, 2, 1}), 0);

      const support::RandomUpstream upstream(x, support::UpstreamParts::both);
      const isentropic::AttentionGradients gradients = attention_backward(x.problem, result, upstream.views);
      for (std::int64_t h = 0; h < 2; ++h) {
        for (std::int64_t i = 0; i < 3; ++i) {
          EXPECT_EQ(gradients.query.at({0, h, i, 0}), 0);
          EXPECT_EQ(gradients.lambda.at({0, h, i}), 0);
        }
      }
      for (std::int64_t j = 0; j < 4; ++j) {
        EXPECT_EQ(gradients.key.at({0, 0, j, 1}), 0);
        EXPECT_EQ(gradients.value.at({0, 0, j, 1}), 0);
        EXPECT_TRUE(std::isfinite(gradients.key.at({1, 0, j, 1})));
      }
    }
  }
}

// Without queries, keys or batch entries, results have the corresponding size and nothing crashes.
TEST(EmptyProblems, OfEveryKind) {
  for (const Sizes& sizes : {Sizes{.heads = 2, .kv_heads = 1, .n_q = 0, .n_k = 3, .d = 2, .d_v = 2},
                             Sizes{.heads = 2, .kv_heads = 1, .n_q = 3, .n_k = 0, .d = 2, .d_v = 2},
                             Sizes{.batch = 0, .heads = 2, .kv_heads = 1, .n_q = 3, .n_k = 3, .d = 2, .d_v = 2}}) {
    for (const Part& mask : {support::unmasked(), support::causal(), support::causal(Align::end)}) {
      Case description{.sizes = sizes, .parts = {mask}, .seed = 42};
      SCOPED_TRACE(description.describe());
      Instance x = build(description);
      expect_forward(x);
      x.problem.statistics = Statistics::all();
      const support::RandomUpstream upstream(x, support::UpstreamParts::both);
      const isentropic::AttentionGradients gradients =
          attention_backward(x.problem, attention(x.problem), upstream.views);
      EXPECT_EQ(gradients.query.shape(), x.problem.query.shape);
      EXPECT_EQ(gradients.key.shape(), x.problem.key.shape);
      for (double g : gradients.query.to_doubles()) EXPECT_EQ(g, 0);
    }
  }
}

TEST(Strides, InterleavedLayoutsGiveTheSameBits) {
  for (DType type : {DType::float64, DType::float32, DType::bfloat16, DType::float16}) {
    for (const Part& map : support::score_maps()) {
      const auto run = [&](Layout layout) {
        Instance x =
            build({.sizes = kSquare, .parts = {support::causal(), map}, .type = type, .layout = layout, .seed = 46});
        x.problem.statistics = Statistics::all();
        return attention(x.problem);
      };
      SCOPED_TRACE(map.name);
      support::expect_identical(run(Layout::contiguous), run(Layout::interleaved));
    }
  }
}

// A stride of 0 repeats an axis.
TEST(Strides, OfZeroRepeat) {
  Instance x =
      build({.sizes = {.batch = 3, .heads = 2, .kv_heads = 2, .n_q = 4, .n_k = 5, .d = 3, .d_v = 2}, .seed = 47});
  for (View* view : {&x.problem.key, &x.problem.value}) view->stride[0] = 0;
  for (Numbers* numbers : {&x.oracle.key, &x.oracle.value}) {
    const std::size_t entry = numbers->size() / 3;
    for (std::size_t n = entry; n < numbers->size(); ++n) (*numbers)[n] = (*numbers)[n - entry];
  }
  expect_forward(x);
}

TEST(Strides, OfZeroRepeatMasksAndBiases) {
  Instance x = build({.sizes = kSmall, .seed = 48});
  Numbers bias = x.random.normals(9);
  std::vector<char> flags = {1, 1, 0, 1, 1, 0, 1, 1, 1};
  View bias_view = x.store(&bias, {1, 1, 1, 9}), mask_view = x.store_flags(flags, {1, 1, 1, 9});
  for (View* view : {&bias_view, &mask_view}) {
    view->shape = {2, 4, 7, 9};
    view->stride = {0, 0, 0, 1};
  }
  x.problem.bias = isentropic::Bias::dense(bias_view);
  x.problem.mask = Mask::none().dense(mask_view);
  x.oracle.bias.kind = reference::BiasKind::dense;
  x.oracle.bias.dense = support::expanded(bias, {1, 1, 1, 9}, {2, 4, 7, 9});
  x.oracle.mask.dense_boolean = support::expanded(flags, {1, 1, 1, 9}, {2, 4, 7, 9});
  expect_forward(x);
  support::expect_dense_gradients(x);
}

TEST(GroupedHeads, EveryRatio) {
  std::uint64_t seed = 4800;
  for (std::int64_t heads : {1, 2, 3, 6}) {
    for (std::int64_t kv_heads : {1, 2, 3, 6}) {
      if (heads % kv_heads != 0) continue;
      check_forward({.sizes = {.batch = 2, .heads = heads, .kv_heads = kv_heads, .n_q = 5, .n_k = 6, .d = 3, .d_v = 4},
                     .parts = {support::causal(Align::end), support::ssmax()},
                     .seed = ++seed});
    }
  }
}

}  // namespace
}  // namespace attention_test
