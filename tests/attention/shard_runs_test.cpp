// Shards of several runs: if every owner holds a piece of the head and one of the tail, the parts give the whole.
#include <algorithm>

#include "sweep.hpp"

namespace attention_test {
namespace {

using isentropic::AttentionGradients;
using isentropic::AttentionProblem;
using isentropic::AttentionResult;
using isentropic::Bias;
using isentropic::Partial;
using isentropic::Run;
using isentropic::Tensor;
using isentropic::View;
using support::Numbers;

using Runs = std::vector<Run>;

std::int64_t length_of(const Runs& runs) {
  std::int64_t length = 0;
  for (const Run& run : runs) length += run.length;
  return length;
}

// The rows of the runs along the third axis of [batch, heads, n, width].
Numbers taken(const Numbers& numbers, std::int64_t heads, std::int64_t n, const Runs& runs) {
  const std::int64_t width = std::ssize(numbers) / heads / n;
  Numbers out;
  for (std::int64_t head = 0; head < heads; ++head)
    for (const Run& run : runs) {
      const auto first = numbers.begin() + (head * n + run.offset) * width;
      out.insert(out.end(), first, first + run.length * width);
    }
  return out;
}

// The given runs of rows and columns of a four-dimensional view of doubles.
Tensor taken(const View& view, const Runs& rows, const Runs& columns) {
  Tensor out(DType::float64, {view.shape[0], view.shape[1], length_of(rows), length_of(columns)});
  double* to = out.values<double>().data();
  const auto* from = static_cast<const double*>(view.data);
  for (std::int64_t b = 0; b < view.shape[0]; ++b)
    for (std::int64_t h = 0; h < view.shape[1]; ++h)
      for (const Run& row : rows)
        for (std::int64_t i = row.offset; i < row.offset + row.length; ++i)
          for (const Run& column : columns)
            for (std::int64_t c = column.offset; c < column.offset + column.length; ++c)
              *to++ = from[b * view.stride[0] + h * view.stride[1] + i * view.stride[2] + c];
  return out;
}

// A piece (queries x keys) of a problem, with its own memory.
struct PieceOfRuns {
  PieceOfRuns(const Instance& x, const Runs& queries, const Runs& keys)
      : query(taken(x.problem.query, queries, {{0, x.sizes.d}})),
        key(taken(x.problem.key, keys, {{0, x.sizes.d}})),
        value(taken(x.problem.value, keys, {{0, x.sizes.d_v}})),
        problem(x.problem) {
    problem.query = query, problem.key = key, problem.value = value;
    problem.shard = {.query_runs = queries, .key_runs = keys, .total_queries = x.sizes.n_q, .total_keys = x.sizes.n_k};
    if (problem.bias.kind() == Bias::Kind::dense) {
      bias = taken(x.problem.bias.values(), queries, keys);
      problem.bias = Bias::dense(bias);
    }
    if (!problem.mask.excluded_keys.present()) return;
    const View& all = x.problem.mask.excluded_keys;
    for (const Run& run : queries)
      for (std::int64_t i = run.offset; i < run.offset + run.length; ++i)
        excluded.push_back(static_cast<const std::int64_t*>(all.data)[i * all.stride[0]]);
    problem.mask.excluded_keys = View(excluded.data(), {std::ssize(excluded)});
  }
  PieceOfRuns(const PieceOfRuns&) = delete;

  Tensor query, key, value, bias;
  std::vector<std::int64_t> excluded;
  AttentionProblem problem;
};

// Cuts n into 2 `owners` pieces; each owner gets one from the head and its mirror image from the tail.
std::vector<Runs> head_and_tail(std::int64_t n, std::int64_t owners) {
  std::vector<Runs> out;
  for (std::int64_t owner = 0; owner < owners; ++owner) {
    const auto cut = [&](std::int64_t piece) { return piece * n / (2 * owners); };
    const std::int64_t mirror = 2 * owners - 1 - owner;
    out.push_back({{cut(owner), cut(owner + 1) - cut(owner)}, {cut(mirror), cut(mirror + 1) - cut(mirror)}});
  }
  return out;
}

std::vector<std::vector<Part>> settings_of_runs() {
  using namespace support;
  return {{log_n()},
          {causal(), log_n(), groups(2, 3)},
          {causal(Align::end), window(3, 2), prefix(2), log_n()},
          {documents(), causal(), log_n()},
          {segments(4), causal()},
          {key_lengths(), causal(Align::end), sqrt_log_n()},
          {strided(3, 2), causal(), log_n(), groups(1, 2)},
          {block_sparse(2, 3), log_n()},
          {exclude_self(), exclude_keys(), log_n()},
          {causal(), alibi(), sink()},
          {relative(3), hybrid()},
          {dense_bias(), soft_cap(1.2)},
          {causal(Align::end), dropout(0.3, 5)},
          {window(2, 2), gumbel(0.9), dropout(0.5, 6)}};
}

TEST(ShardRuns, PartsMergeToTheWhole) {
  std::uint64_t seed = 5500;
  for (const auto& parts : settings_of_runs()) {
    Case description{.sizes = kSmall, .parts = parts, .seed = ++seed};
    SCOPED_TRACE(description.describe());
    Instance x = build(description);
    x.problem.statistics = support::every_statistic(x);
    const AttentionResult whole = attention(x.problem);
    support::expect_result(whole, reference::forward(x.oracle), x);
    const std::int64_t heads = kSmall.batch * kSmall.heads;
    for (const Runs& queries : head_and_tail(kSmall.n_q, 2)) {
      Partial merged;
      for (const Runs& keys : head_and_tail(kSmall.n_k, 2))
        merged = merge(attention_partial(PieceOfRuns(x, queries, keys).problem), merged);
      const PieceOfRuns last(x, queries, {{0, 9}});
      const AttentionResult found = finish(merged, last.problem);
      const auto expect_rows_of = [&](const Tensor& some, const Tensor& all) {
        ASSERT_EQ(some.present(), all.present());
        if (!all.present()) return;
        EXPECT_TRUE(
            support::close(some.to_doubles(), taken(all.to_doubles(), heads, kSmall.n_q, queries), support::kTight));
      };
      expect_rows_of(found.output, whole.output);
#define ISENTROPIC_CHECK(name) expect_rows_of(found.statistics.name, whole.statistics.name);
      ISENTROPIC_FOR_EACH_STATISTIC(ISENTROPIC_CHECK)
#undef ISENTROPIC_CHECK
      expect_rows_of(found.rows.lambda, whole.rows.lambda);
    }
  }
}

TEST(ShardRuns, GradientsAddUp) {
  using support::RandomUpstream;
  using support::UpstreamParts;
  std::uint64_t seed = 5600;
  for (const auto& parts : settings_of_runs()) {
    Case description{.sizes = kSmall, .parts = parts, .seed = ++seed};
    SCOPED_TRACE(description.describe());
    Instance x = build(description);
    x.problem.statistics = isentropic::Statistics::all();
    const RandomUpstream upstream(x, UpstreamParts::both);
    const AttentionGradients whole = attention_backward(x.problem, attention(x.problem), upstream.views);
    const Runs all_queries = {{0, kSmall.n_q}};
    const std::vector<Runs> owners = head_and_tail(kSmall.n_k, 2);
    Partial merged;
    for (const Runs& keys : owners)
      merged = merge(attention_partial(PieceOfRuns(x, all_queries, keys).problem), merged);
    const PieceOfRuns first(x, all_queries, owners[0]);
    const AttentionResult forward = finish(merged, first.problem);
    const auto constants = attention_row_constants(first.problem, forward, upstream.views);
    const bool summed = x.problem.bias.kind() == Bias::Kind::alibi || x.problem.bias.kind() == Bias::Kind::relative;
    Numbers query(whole.query.to_doubles().size()), bias(summed ? whole.bias.to_doubles().size() : 0);
    const auto add = [](Numbers& sum, const Tensor& more) {
      const Numbers numbers = more.to_doubles();
      ASSERT_EQ(sum.size(), numbers.size());
      std::ranges::transform(sum, numbers, sum.begin(), std::plus<>());
    };
    const std::int64_t kv_heads = kSmall.batch * kSmall.kv_heads;
    for (const Runs& keys : owners) {
      const PieceOfRuns piece(x, all_queries, keys);
      const AttentionGradients share = attention_backward(piece.problem, forward.rows, constants, upstream.views);
      add(query, share.query);
      if (summed) add(bias, share.bias);
      for (const auto& [some, all] : {std::pair(&share.key, &whole.key), std::pair(&share.value, &whole.value)})
        EXPECT_TRUE(
            support::close(some->to_doubles(), taken(all->to_doubles(), kv_heads, kSmall.n_k, keys), support::kTight));
    }
    EXPECT_TRUE(support::close(query, whole.query.to_doubles(), support::kTight)) << "query";
    if (summed) {
      EXPECT_TRUE(support::close(bias, whole.bias.to_doubles(), support::kTight)) << "bias";
    }
  }
}

// Runs longer than a block, ending in the middle of one.
TEST(ShardRuns, LongerThanBlocks) {
  using namespace support;
  const Sizes sizes{.batch = 1, .heads = 2, .kv_heads = 1, .n_q = 230, .n_k = 1300, .d = 4, .d_v = 3};
  std::uint64_t seed = 5700;
  for (const auto& parts : std::vector<std::vector<Part>>{{causal(Align::end), log_n(), groups(3, 100)},
                                                          {causal(Align::end), window(700, 0), alibi()},
                                                          {dropout(0.4, 3)}}) {
    Case description{.sizes = sizes, .parts = parts, .seed = ++seed};
    SCOPED_TRACE(description.describe());
    Instance x = build(description);
    x.problem.statistics = every_statistic(x);
    const AttentionResult whole = attention(x.problem);
    for (const Runs& queries : head_and_tail(sizes.n_q, 2)) {
      Partial merged;
      for (const Runs& keys : head_and_tail(sizes.n_k, 2))
        merged = merge(merged, attention_partial(PieceOfRuns(x, queries, keys).problem));
      const PieceOfRuns all_keys(x, queries, {{0, sizes.n_k}});
      const AttentionResult found = finish(merged, all_keys.problem);
      EXPECT_TRUE(close(found.output.to_doubles(), taken(whole.output.to_doubles(), 2, sizes.n_q, queries), kTight));
      EXPECT_TRUE(close(found.statistics.entropy.to_doubles(),
                        taken(whole.statistics.entropy.to_doubles(), 2, sizes.n_q, queries), kTight));
    }
  }
}

}  // namespace
}  // namespace attention_test
