#include "attention/cpu/softmax_forward.hpp"

#include <utility>

#include "attention/cpu/row_group.hpp"

namespace isentropic {
namespace {

inline constexpr std::int64_t kSplitKeys = 8192;  // keys one task folds when there are few rows

// y's keys added to x, for the same rows.
template <class T>
void merge_into(RowsResult<T>& x, const RowsResult<T>& y) {
  for (std::size_t r = 0; r < x.records.size(); ++r) {
    const SoftmaxRecord<double> merged = merge(x.records[r], y.records[r]);
    const auto factor = [&](const SoftmaxRecord<double>& part) {
      return part.empty() ? T(0) : static_cast<T>(std::exp(part.m - merged.m));
    };
    const T x_factor = factor(x.records[r]), y_factor = factor(y.records[r]);
    for (std::int64_t c = 0; c < x.output_stride && !x.output.empty(); ++c) {
      T& out = x.output[r * x.output_stride + c];
      out = out * x_factor + y.output[r * x.output_stride + c] * y_factor;
    }
    x.records[r] = merged;
    if (!x.groups.empty()) x.groups[r] = merge(x.groups[r], y.groups[r]);
  }
}

// Rows against blocks of keys, one block after the other.
template <class T>
class RowsFold {
 public:
  RowsFold(const ScoreContext& context, const SoftmaxPass& pass, std::int64_t b, Span heads, std::int64_t i0,
           std::int64_t i1)
      : in_turns_(context.planes > 0),
        result_{b, heads.begin, heads.size(), i0, i1, {}, {}, {}, 0},
        groups_{{context, pass, queries_, result_}, {context, pass, queries_, result_}} {
    if (heads.size() == 1)
      queries_.load(context.problem.query, b, heads.begin, i0, i1, context.planes);
    else
      queries_.load_heads(context.problem.query, b, heads.begin, heads.size(), i0, i1);
    for (RowGroup<T>& group : groups_) group.use_queries();
    result_.records.resize(result_.rows());
    if (pass.groups) result_.groups.resize(result_.rows());
    if (!pass.values) return;
    result_.output_stride = padded(context.dims.d_v);
    result_.output.assign(result_.rows() * result_.output_stride, T(0));
  }

  void add(const KeyBlock<T>& block) {
    const std::int64_t count = result_.rows();
    if (!in_turns_) return current_->score(0, count, block, nullptr), current_->finish(nullptr);
    // Two groups take turns: while one is multiplied, rows of the other pass through the softmax.
    const std::int64_t size = active_kernels().narrow->row_group;
    for (std::int64_t first = 0; first < count; first += size) {
      if (!current_->score(first, std::min(size, count - first), block, last_)) continue;
      last_->finish(current_);
      std::swap(current_, last_);
    }
  }

  RowsResult<T> take() {
    last_->finish(nullptr);
    return std::move(result_);
  }

 private:
  bool in_turns_;
  RowBlock<T> queries_;
  RowsResult<T> result_;
  RowGroup<T> groups_[2];
  RowGroup<T>*current_ = &groups_[0], *last_ = &groups_[1];
};

}  // namespace

template <class T>
RowsResult<T> fold_keys(const ScoreContext& context, const KeyBlocks<T>& keys, const SoftmaxPass& pass, std::int64_t b,
                        Span heads, std::int64_t i0, std::int64_t i1, Span range) {
  RowsFold<T> fold(context, pass, b, heads, i0, i1);
  // Blocks start at multiples of kKeyBlock, so a row's sums do not depend on which rows share its block.
  keys.for_each(b, context.dims.kv_head(heads.begin), range, [&](const KeyBlock<T>& block) { fold.add(block); });
  return fold.take();
}

template <class T>
void for_each_rows(const ScoreContext& context, const SoftmaxPass& pass,
                   const std::function<void(RowsResult<T>&)>& receive) {
  const Dims& dims = context.dims;
  const std::int64_t blocks = (dims.n_q + kQueryBlock - 1) / kQueryBlock;
  const std::int64_t splits = blocks == 1 ? std::max<std::int64_t>(1, (dims.n_k + kSplitKeys - 1) / kSplitKeys) : 1;
  // Few rows are bound by what they read: the heads that share keys then read them together.
  const std::int64_t together = dims.n_q <= kFewRows ? dims.group() : 1, teams = dims.heads / together;
  const KeyBlocks<T> key_blocks(context.problem, context.planes, {.values = pass.values});
  std::vector<RowsResult<T>> pieces(splits > 1 ? dims.batch * teams * splits : 0);
  Executor& executor = executor_of(context.problem);

  executor.parallel_for(dims.batch * teams * blocks * splits, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t split = task % splits, block = task / splits % blocks;
      const std::int64_t h = task / splits / blocks % teams * together, b = task / splits / blocks / teams;
      // The last rows first: causal ones see the most keys, and the long tasks should not come last.
      const std::int64_t i0 = (blocks - 1 - block) * kQueryBlock, i1 = std::min(i0 + kQueryBlock, dims.n_q);
      Span keys = context.visibility.reach(b, i0, i1);
      if (splits > 1) keys = {std::max(keys.begin, split * kSplitKeys), std::min(keys.end, (split + 1) * kSplitKeys)};
      RowsResult<T> rows = fold_keys(context, key_blocks, pass, b, {h, h + together}, i0, i1, keys);
      if (splits == 1)
        receive(rows);
      else
        pieces[task] = std::move(rows);
    }
  });
  if (splits == 1) return;
  executor.parallel_for(dims.batch * teams, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      RowsResult<T>& rows = pieces[task * splits];
      for (std::int64_t split = 1; split < splits; ++split) merge_into(rows, pieces[task * splits + split]);
      receive(rows);
    }
  });
}

template RowsResult<float> fold_keys(const ScoreContext&, const KeyBlocks<float>&, const SoftmaxPass&, std::int64_t,
                                     Span, std::int64_t, std::int64_t, Span);
template RowsResult<double> fold_keys(const ScoreContext&, const KeyBlocks<double>&, const SoftmaxPass&, std::int64_t,
                                      Span, std::int64_t, std::int64_t, Span);
template void for_each_rows(const ScoreContext&, const SoftmaxPass&, const std::function<void(RowsResult<float>&)>&);
template void for_each_rows(const ScoreContext&, const SoftmaxPass&, const std::function<void(RowsResult<double>&)>&);

}  // namespace isentropic
