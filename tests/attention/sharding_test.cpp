// A problem sharded along queries and keys gives the same result, whatever the order of merging.
#include <algorithm>

#include "sweep.hpp"

namespace attention_test {
namespace {

using isentropic::AttentionGradients;
using isentropic::AttentionProblem;
using isentropic::AttentionResult;
using isentropic::Partial;
using isentropic::Run;
using isentropic::View;
using support::Numbers;

struct Range {
  std::int64_t begin, end;
};

View cut(const View& view, std::size_t axis, Range range) {
  return view.shape[axis] == 1 ? view : view.slice(axis, range.begin, range.end);
}

// The piece (queries x keys) of a problem, as the owner of that piece would describe it.
AttentionProblem piece(Instance& x, Range queries, Range keys) {
  AttentionProblem out = x.problem;
  out.query = x.problem.query.slice(2, queries.begin, queries.end);
  out.key = x.problem.key.slice(2, keys.begin, keys.end);
  out.value = x.problem.value.slice(2, keys.begin, keys.end);
  out.shard = {{Run{queries.begin}}, {Run{keys.begin}}, x.sizes.n_q, x.sizes.n_k, {}};
  if (out.mask.excluded_keys.present())
    out.mask.excluded_keys = out.mask.excluded_keys.slice(0, queries.begin, queries.end);
  const bool dense_mask = out.mask.dense_part.present();
  const bool dense_bias = out.bias.kind() == isentropic::Bias::Kind::dense;
  if (dense_mask) {
    out.mask.dense_part = cut(out.mask.dense_part, 2, queries).slice(3, keys.begin, keys.end);
  }
  if (dense_bias) {
    out.bias = isentropic::Bias::dense(cut(out.bias.values(), 2, queries).slice(3, keys.begin, keys.end));
  }
  if (out.scale.is_per_row()) {
    out.scale = isentropic::Scale::per_row(cut(out.scale.rows(), 2, queries));
  }
  if (dense_mask || dense_bias) {
    // Only the whole row knows how many keys it sees.
    std::vector<std::int64_t> visible;
    const reference::Forward whole = reference::forward(x.oracle);
    for (std::int64_t b = 0; b < x.sizes.batch; ++b) {
      for (std::int64_t h = 0; h < x.sizes.heads; ++h) {
        for (std::int64_t i = queries.begin; i < queries.end; ++i) {
          visible.push_back(whole.visible[static_cast<std::size_t>(x.oracle.row(b, h, i))]);
        }
      }
    }
    out.shard.visible = x.store_integers(visible, {x.sizes.batch, x.sizes.heads, queries.end - queries.begin});
  }
  return out;
}

// Rows [begin, end) of every head of [batch, heads, n_q, width].
Numbers rows_of(const Numbers& numbers, const Sizes& sizes, Range rows) {
  const std::size_t heads = static_cast<std::size_t>(sizes.batch * sizes.heads);
  const std::size_t width = numbers.size() / heads / static_cast<std::size_t>(sizes.n_q);
  Numbers out;
  for (std::size_t head = 0; head < heads; ++head) {
    const auto start =
        numbers.begin() + static_cast<std::ptrdiff_t>(head * static_cast<std::size_t>(sizes.n_q) * width);
    out.insert(out.end(), start + rows.begin * static_cast<std::ptrdiff_t>(width),
               start + rows.end * static_cast<std::ptrdiff_t>(width));
  }
  return out;
}

void add_to(Numbers* sum, const Numbers& more) {
  sum->resize(more.size());
  for (std::size_t n = 0; n < more.size(); ++n) (*sum)[n] += more[n];
}

void expect_rows(const AttentionResult& result, const reference::Forward& whole, const Sizes& sizes, Range rows) {
  EXPECT_TRUE(support::close(result.output.to_doubles(), rows_of(whole.output, sizes, rows), support::kTight));
  reference::Forward part;
  for (const auto& [name, values] : whole.statistics) part.statistics[name] = rows_of(values, sizes, rows);
  support::expect_statistics(result.statistics, part);
}

const std::vector<Range> kQueryCuts = {{0, 3}, {3, 4}, {4, 7}};
const std::vector<Range> kKeyCuts = {{0, 4}, {4, 4}, {4, 5}, {5, 9}};

std::vector<std::vector<Part>> sharded_settings() {
  using namespace support;
  std::vector<std::vector<Part>> out;
  for (const auto& masks : mask_combinations()) out.push_back(joined(masks, {log_n(), groups(2, 3)}));
  out.push_back({causal(), llama4(2), alibi(), groups(1, 2)});
  out.push_back({causal(Align::end), per_row_scale(), relative(2), sink()});
  out.push_back({dense_bias_with_masked_keys(), sqrt_log_n(), soft_cap(1.1), sink(), groups(2, 2)});
  out.push_back({causal(), gumbel(0.6), sink()});
  out.push_back({causal(Align::end), dropout(0.3, 5)});
  out.push_back({window(2, 2), gumbel(0.9), dropout(0.5, 6), hybrid()});
  return out;
}

TEST(Sharding, CutAlongQueriesAndKeys) {
  std::uint64_t seed = 5000;
  for (const auto& parts : sharded_settings()) {
    Case description{.sizes = kSmall, .parts = parts, .seed = ++seed};
    SCOPED_TRACE(description.describe());
    Instance x = build(description);
    x.problem.statistics = support::every_statistic(x);
    const reference::Forward whole = reference::forward(x.oracle);
    for (const Range& queries : kQueryCuts) {
      std::vector<Partial> partials;
      AttentionProblem last;
      for (const Range& keys : kKeyCuts) partials.push_back(attention_partial(last = piece(x, queries, keys)));
      x.random.shuffle(&partials);
      // ((0 1) (2 3)) in random order, starting from an empty part.
      const Partial merged =
          merge(Partial{}, merge(merge(partials[0], partials[1]), merge(partials[2], merge(partials[3], Partial{}))));
      expect_rows(finish(merged, last), whole, kSmall, queries);
    }
  }
}

// Every map can be sharded along queries only: each shard is then an ordinary call.
TEST(Sharding, CutAlongQueries) {
  std::uint64_t seed = 5100;
  std::vector<std::vector<Part>> all = sharded_settings();
  for (const Part& map : support::score_maps()) all.push_back({support::causal(), map, support::log_n()});
  for (const Part& map : support::decaying_maps()) all.push_back({support::causal(Align::end), map});
  for (const auto& parts : all) {
    Case description{.sizes = kSmall, .parts = parts, .seed = ++seed};
    SCOPED_TRACE(description.describe());
    Instance x = build(description);
    x.problem.statistics = support::every_statistic(x);
    const reference::Forward whole = reference::forward(x.oracle);
    for (const Range& queries : kQueryCuts) {
      expect_rows(attention(piece(x, queries, {0, kSmall.n_k})), whole, kSmall, queries);
    }
  }
}

TEST(Sharding, GradientsAddUp) {
  using namespace support;
  const std::vector<std::vector<Part>> cases = {{causal(Align::end), log_n()},
                                                {causal(), ssmax(), alibi(), sink()},
                                                {window(3, 2), prefix(1), hybrid(), soft_cap(1.2)},
                                                {dense_boolean(), sqrt_log_n(), sink()},
                                                {block_sparse(2, 3), relative(2)},
                                                {key_lengths(), causal(Align::end), dense_bias()},
                                                {documents(), causal(), dropout(0.3, 9)},
                                                {segments(4), gumbel(0.8)}};
  std::uint64_t seed = 5200;
  for (const auto& parts : cases) {
    Case description{.sizes = kSmall, .parts = parts, .seed = ++seed};
    SCOPED_TRACE(description.describe());
    Instance x = build(description);
    x.problem.statistics = isentropic::Statistics::all();
    const RandomUpstream upstream(x, UpstreamParts::both);
    const reference::DenseGradients expected = dense_gradients(x.oracle, upstream.oracle);
    const AttentionGradients whole = attention_backward(x.problem, attention(x.problem), upstream.views);

    const Range all_queries{0, kSmall.n_q};
    Partial merged;
    for (const Range& keys : kKeyCuts) merged = merge(attention_partial(piece(x, all_queries, keys)), merged);
    const AttentionProblem first = piece(x, all_queries, kKeyCuts[0]);
    const AttentionResult forward = finish(merged, first);
    const auto constants = attention_row_constants(first, forward, upstream.views);
    Numbers query, lambda, slopes_or_table;
    std::vector<Numbers> parameters(whole.scale_parameters.size());
    for (const Range& keys : kKeyCuts) {
      const AttentionGradients share =
          attention_backward(piece(x, all_queries, keys), forward.rows, constants, upstream.views);
      add_to(&query, share.query.to_doubles());
      add_to(&lambda, share.lambda.to_doubles());
      ASSERT_EQ(share.scale_parameters.size(), parameters.size());
      for (std::size_t p = 0; p < parameters.size(); ++p) {
        add_to(&parameters[p], share.scale_parameters[p].to_doubles());
      }
      const bool summed = x.problem.bias.kind() == isentropic::Bias::Kind::alibi ||
                          x.problem.bias.kind() == isentropic::Bias::Kind::relative;
      if (summed) add_to(&slopes_or_table, share.bias.to_doubles());
      // Keys and values belong to a single shard.
      Sizes key_sizes = kSmall;
      key_sizes.heads = kSmall.kv_heads;
      key_sizes.n_q = kSmall.n_k;
      EXPECT_TRUE(close(share.key.to_doubles(), rows_of(expected.key, key_sizes, keys), kTight)) << "key";
      EXPECT_TRUE(close(share.value.to_doubles(), rows_of(expected.value, key_sizes, keys), kTight)) << "value";
    }
    EXPECT_TRUE(close(query, expected.query, kTight)) << "query";
    EXPECT_TRUE(close(lambda, expected.lambda, kTight)) << "lambda";
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      EXPECT_TRUE(close(parameters[p], whole.scale_parameters[p].to_doubles(), kTight)) << "scale parameter " << p;
    }
    if (!slopes_or_table.empty()) {
      EXPECT_TRUE(close(slopes_or_table, whole.bias.to_doubles(), kTight)) << "bias";
    }
    if (x.problem.sink) {
      Numbers sink(static_cast<std::size_t>(kSmall.heads), 0);
      for (std::size_t r = 0; r < constants.size(); ++r) {
        sink[(r / static_cast<std::size_t>(kSmall.n_q)) % sink.size()] += constants[r].sink;
      }
      EXPECT_TRUE(close(sink, expected.sink, kTight)) << "sink";
    }
  }
}

TEST(Sharding, PartialsOfOtherRowsDoNotMerge) {
  Instance x = build({.sizes = kSmall, .seed = 5300});
  const Partial left = attention_partial(piece(x, {0, 3}, {0, 4}));
  const Partial right = attention_partial(piece(x, {0, 4}, {4, 9}));
  EXPECT_THROW(merge(left, right), isentropic::Error);
}

// One query against a growing cache, as in decoding: split keys, causal to the end.
TEST(Sharding, DecodingWithSplitKeys) {
  Instance x = build({.sizes = {.batch = 2, .heads = 4, .kv_heads = 2, .n_q = 1, .n_k = 513, .d = 8, .d_v = 8},
                      .parts = {support::causal(Align::end), support::log_n(), support::groups(4, 64)},
                      .seed = 5400});
  x.problem.statistics = support::every_statistic(x);
  Partial merged;
  for (std::int64_t begin = 0; begin < 513; begin += 128) {
    merged = merge(merged, attention_partial(piece(x, {0, 1}, {begin, std::min<std::int64_t>(begin + 128, 513)})));
  }
  support::expect_result(finish(merged, x.problem), reference::forward(x.oracle), x);
}

}  // namespace
}  // namespace attention_test
