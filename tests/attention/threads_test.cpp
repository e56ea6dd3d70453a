// Results are bitwise independent of the number of threads and the order of their work.
#include <algorithm>
#include <atomic>

#include "isentropic/executor.hpp"
#include "sweep.hpp"

namespace attention_test {
namespace {

using isentropic::Executor;
using isentropic::FixedThreads;

// Splits the range into uneven pieces and runs them in reverse order.
class Backwards final : public Executor {
 public:
  const char* name() const override { return "backwards"; }
  int threads() const override { return 7; }
  void parallel_for(std::int64_t count, const Work& work) override {
    std::int64_t size = 1;
    for (std::int64_t end = count; end > 0; size = size % 3 + 1) {
      const std::int64_t begin = std::max<std::int64_t>(0, end - size);
      work(begin, end);
      end = begin;
    }
  }
};

std::vector<std::vector<Part>> settings() {
  using namespace support;
  std::vector<std::vector<Part>> out = {{causal(), log_n(), soft_cap(3), alibi(), sink()},
                                        {causal(Align::end), relative(4), hybrid()},
                                        {dense_boolean(), dense_bias(Repeat::heads), ssmax()},
                                        {dense_bias(Repeat::rows)},
                                        {block_sparse(16, 8), dropout(0.2, 3)},
                                        {causal(), target_entropy(1.5)}};
  for (const Part& map : score_maps()) out.push_back({causal(), constant_scale_per_head(), map});
  for (const Part& map : decaying_maps()) out.push_back({causal(), map});
  for (const Part& map : recurrent_decaying_maps()) out.push_back({causal(), map});
  return out;
}

TEST(Threads, NeverShowInResultsOrGradients) {
  const Sizes sizes{.batch = 2, .heads = 4, .kv_heads = 2, .n_q = 131, .n_k = 150, .d = 8, .d_v = 5};
  std::uint64_t seed = 8000;
  for (DType type : {DType::float32, DType::float64, DType::bfloat16}) {
    for (const auto& parts : settings()) {
      Case description{.sizes = sizes, .parts = parts, .type = type, .seed = ++seed};
      SCOPED_TRACE(description.describe());
      Instance x = build(description);
      x.problem.statistics =
          x.problem.map.streams() ? isentropic::Statistics::all().groups(2, 16) : isentropic::Statistics::all();
      const support::RandomUpstream upstream(x, support::UpstreamParts::both);
      FixedThreads one(1), two(2), three(3);
      Backwards backwards;
      x.problem.executor = &one;
      const auto expected = attention(x.problem);
      const auto gradients = attention_backward(x.problem, expected, upstream.views);
      const auto mass = attention_key_mass(x.problem, expected);
      for (Executor* executor :
           std::initializer_list<Executor*>{&two, &three, &backwards, &isentropic::serial_executor(), nullptr}) {
        x.problem.executor = executor;
        const auto result = attention(x.problem);
        support::expect_identical(result, expected);
        support::expect_identical(attention_backward(x.problem, result, upstream.views), gradients);
        EXPECT_TRUE(support::identical(attention_key_mass(x.problem, result), mass)) << "key mass";
      }
    }
  }
}

// Several blocks of keys: the backward pass splits them into shares and sums each one's contribution to dQ.
TEST(Threads, NeverShowInABackwardOfManyBlocks) {
  const Sizes sizes{.heads = 2, .kv_heads = 1, .n_q = 200, .n_k = 2100, .d = 8, .d_v = 5};
  for (DType type : {DType::float32, DType::float64, DType::bfloat16}) {
    Instance x = build({.sizes = sizes, .parts = {support::causal(Align::end), support::log_n()}, .type = type});
    const support::RandomUpstream upstream(x, support::UpstreamParts::output);
    FixedThreads one(1), two(2), three(3);
    Backwards backwards;
    x.problem.executor = &one;
    const auto forward = attention(x.problem);
    const auto expected = attention_backward(x.problem, forward, upstream.views);
    for (Executor* executor : std::initializer_list<Executor*>{&two, &three, &backwards}) {
      x.problem.executor = executor;
      support::expect_identical(attention_backward(x.problem, forward, upstream.views), expected);
    }
  }
}

// One query: the threads share its keys.
TEST(Threads, NeverShowInALongRow) {
  for (DType type : {DType::float32, DType::float64}) {
    Instance x = build({.sizes = {.n_q = 1, .n_k = 40000, .d = 4, .d_v = 3}, .type = type, .seed = 8500});
    x.problem.statistics = isentropic::Statistics::all().groups(4, 64);
    FixedThreads one(1), two(2);
    Backwards backwards;
    x.problem.executor = &one;
    const auto expected = attention(x.problem);
    for (Executor* executor : std::initializer_list<Executor*>{&two, &backwards}) {
      x.problem.executor = executor;
      support::expect_identical(attention(x.problem), expected);
    }
  }
}

TEST(Threads, ExecutorsCoverTheRangeOnce) {
  FixedThreads one(1), two(2), many(5);
  for (Executor* executor : std::initializer_list<Executor*>{&one, &two, &many, &isentropic::serial_executor(),
                                                             &isentropic::default_executor()}) {
    EXPECT_GE(executor->threads(), 1);
    for (std::int64_t count : {0, 1, 2, 3, 4, 7, 100}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      executor->parallel_for(count, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) ++visits[static_cast<std::size_t>(n)];
      });
      for (const auto& visit : visits) EXPECT_EQ(visit.load(), 1);
    }
  }
  EXPECT_EQ(two.threads(), 2);
}

// Heads with few rows that share keys read them together, long rows in pieces; results are those of each head alone.
TEST(Decoding, ADozenHeadsTogetherAreADozenAlone) {
  for (DType type : {DType::float32, DType::bfloat16, DType::float16}) {
    const Case description{.sizes = {.batch = 2, .heads = 12, .kv_heads = 3, .n_q = 2, .n_k = 9000, .d = 20, .d_v = 12},
                           .parts = {support::causal(Align::end), support::sink()},
                           .type = type,
                           .seed = 8100};
    Instance x = build(description);
    x.problem.statistics = isentropic::Statistics::all();
    const auto together = attention(x.problem);
    for (std::int64_t h = 0; h < 12; ++h) {
      isentropic::AttentionProblem alone = x.problem;
      alone.query = x.problem.query.slice(1, h, h + 1);
      alone.key = x.problem.key.slice(1, h / 4, h / 4 + 1);
      alone.value = x.problem.value.slice(1, h / 4, h / 4 + 1);
      alone.sink = std::vector<double>{(*x.problem.sink)[h]};
      const auto expected = attention(alone);
      for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t i = 0; i < 2; ++i) {
          EXPECT_EQ(together.statistics.entropy.at({b, h, i}), expected.statistics.entropy.at({b, 0, i}));
          for (std::int64_t c = 0; c < 12; ++c)
            EXPECT_EQ(together.output.at({b, h, i, c}), expected.output.at({b, 0, i, c}));
        }
    }
  }
}

}  // namespace
}  // namespace attention_test
