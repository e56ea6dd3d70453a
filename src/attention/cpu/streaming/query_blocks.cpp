// Folds blocks of queries along their keys, in parallel; with few queries, long key axes are split and merged.
#include "attention/cpu/streaming/query_blocks.hpp"

#include <utility>

#include "attention/cpu/streaming/query_group.hpp"
#include "softmax/weighted_sum.hpp"

namespace isentropic {
namespace {

inline constexpr std::int64_t kSplitKeys = 8192;  // keys per task when there are few rows

// Merges y into x, for the same rows.
template <class T>
void merge_into(QueryBlockResult<T>& x, const QueryBlockResult<T>& y) {
  const std::int64_t width = x.output.empty() ? 0 : x.output_stride;
  for (std::int64_t r = 0; r < x.rows(); ++r) {
    merge_weighted_sum(x.records[r], x.sum(r), y.records[r], y.sum(r), width);
    if (!x.groups.empty()) x.groups[r] = merge(x.groups[r], y.groups[r]);
  }
}

// Folds rows against blocks of keys, sequentially.
template <class T>
class QueryBlockFold {
 public:
  QueryBlockFold(const ScoreContext& context, const SoftmaxPass& pass, std::int64_t b, Span heads, std::int64_t i0,
                 std::int64_t i1)
      : in_turns_(context.planes > 0),
        result_{b, heads.begin, heads.size(), i0, i1, {}, {}, {}, 0},
        groups_{{context, pass, queries_, result_}, {context, pass, queries_, result_}} {
    if (heads.size() == 1)
      queries_.load(context.problem.query, b, heads.begin, i0, i1, context.planes);
    else
      queries_.load_heads(context.problem.query, b, heads.begin, heads.size(), i0, i1);
    for (QueryGroup<T>& group : groups_) group.use_queries();
    result_.records.resize(result_.rows());
    if (pass.groups) result_.groups.resize(result_.rows());
    if (!pass.values) return;
    result_.output_stride = padded(context.dims.d_v);
    result_.output.assign(result_.rows() * result_.output_stride, T(0));
  }

  void add(const KeyBlock<T>& block) {
    const std::int64_t count = result_.rows();
    if (!in_turns_) return current_->score(0, count, block, nullptr), current_->finish(nullptr);
    // Two groups alternate: while one is multiplied, rows of the other go through the softmax.
    const std::int64_t size = active_kernels().narrow->row_group;
    for (std::int64_t first = 0; first < count; first += size) {
      if (!current_->score(first, std::min(size, count - first), block, last_)) continue;
      last_->finish(current_);
      std::swap(current_, last_);
    }
  }

  QueryBlockResult<T> take() {
    last_->finish(nullptr);
    return std::move(result_);
  }

 private:
  bool in_turns_;
  LoadedRows<T> queries_;
  QueryBlockResult<T> result_;
  QueryGroup<T> groups_[2];
  QueryGroup<T>*current_ = &groups_[0], *last_ = &groups_[1];
};

}  // namespace

template <class T>
QueryBlockResult<T> fold_keys(const ScoreContext& context, const KeyBlocks<T>& keys, const SoftmaxPass& pass,
                              std::int64_t b, Span heads, std::int64_t i0, std::int64_t i1, Span range) {
  QueryBlockFold<T> fold(context, pass, b, heads, i0, i1);
  // Block boundaries do not depend on the rows, so a row's sums do not depend on which rows share its block.
  keys.for_each(b, context.dims.kv_head(heads.begin), range, [&](const KeyBlock<T>& block) { fold.add(block); });
  return fold.take();
}

template <class T>
void for_each_query_block(const ScoreContext& context, const SoftmaxPass& pass,
                          const std::function<void(QueryBlockResult<T>&)>& receive) {
  const Dims& dims = context.dims;
  const std::int64_t blocks = (dims.n_q + kQueryBlock - 1) / kQueryBlock;
  const std::int64_t splits = blocks == 1 ? std::max<std::int64_t>(1, (dims.n_k + kSplitKeys - 1) / kSplitKeys) : 1;
  // With few rows the pass is memory-bound, so the heads that share keys read them together.
  const std::int64_t together = dims.n_q <= kFewRows ? dims.group() : 1, teams = dims.heads / together;
  const KeyBlocks<T> key_blocks(context.problem, context.planes, {.values = pass.values});
  std::vector<QueryBlockResult<T>> pieces(splits > 1 ? dims.batch * teams * splits : 0);
  Executor& executor = executor_of(context.problem);

  executor.parallel_for(dims.batch * teams * blocks * splits, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t split = task % splits, block = task / splits % blocks;
      const std::int64_t h = task / splits / blocks % teams * together, b = task / splits / blocks / teams;
      // Last rows first: under a causal mask they see the most keys, and long tasks should not come last.
      const std::int64_t i0 = (blocks - 1 - block) * kQueryBlock, i1 = std::min(i0 + kQueryBlock, dims.n_q);
      Span keys = context.visibility.reach(b, i0, i1);
      if (splits > 1) keys = {std::max(keys.begin, split * kSplitKeys), std::min(keys.end, (split + 1) * kSplitKeys)};
      QueryBlockResult<T> rows = fold_keys(context, key_blocks, pass, b, {h, h + together}, i0, i1, keys);
      if (splits == 1)
        receive(rows);
      else
        pieces[task] = std::move(rows);
    }
  });
  if (splits == 1) return;
  executor.parallel_for(dims.batch * teams, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      QueryBlockResult<T>& rows = pieces[task * splits];
      for (std::int64_t split = 1; split < splits; ++split) merge_into(rows, pieces[task * splits + split]);
      receive(rows);
    }
  });
}

template QueryBlockResult<float> fold_keys(const ScoreContext&, const KeyBlocks<float>&, const SoftmaxPass&,
                                           std::int64_t, Span, std::int64_t, std::int64_t, Span);
template QueryBlockResult<double> fold_keys(const ScoreContext&, const KeyBlocks<double>&, const SoftmaxPass&,
                                            std::int64_t, Span, std::int64_t, std::int64_t, Span);
template void for_each_query_block(const ScoreContext&, const SoftmaxPass&,
                                   const std::function<void(QueryBlockResult<float>&)>&);
template void for_each_query_block(const ScoreContext&, const SoftmaxPass&,
                                   const std::function<void(QueryBlockResult<double>&)>&);

}  // namespace isentropic
