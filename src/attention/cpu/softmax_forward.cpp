#include "attention/cpu/softmax_forward.hpp"

#include "attention/cpu/dropout.hpp"
#include "attention/cpu/softmax_row.hpp"

namespace isentropic {
namespace {

inline constexpr std::int64_t kSplitKeys = 8192;  // keys one task folds when there are few rows

// Scores become weights, here and, unless null, in `narrow`.
template <MomentSet set, class T>
void fold_tile(const ScoreContext& context, ScoreTile<T>& tile, RowsResult<T>& rows, NarrowLeft* narrow) {
  const AttentionProblem& problem = context.problem;
  for (std::int64_t r = 0; r < rows.i1 - rows.i0; ++r) {
    T* s = tile.row(r);
    if (!rows.groups.empty())
      fold_groups(rows.groups[r], s, tile.keys.rows(), tile.keys.begin, context.visibility.key_offset(),
                  context.visibility.place(rows.b, rows.i0 + r), problem.statistics.first_keys(),
                  problem.statistics.recent_keys());
    const T shrink = fold_row<set>(rows.records[r], s, tile.stride(), tile.pending_factor(r),
                                   tile.keys.begin + context.visibility.key_offset(), tile.visible(r));
    if (rows.output.empty()) continue;
    if (shrink != T(1)) {
      T* out = rows.output.data() + r * rows.output_stride;
      for (std::int64_t c = 0; c < rows.output_stride; ++c) out[c] *= shrink;
    }
    apply_dropout(problem, rows.b, rows.h, rows.i0 + r, tile.keys.begin, tile.keys.rows(), s);
    if constexpr (std::is_same_v<T, float>)
      if (narrow) narrow->round_row(r, s, tile.stride());
  }
}

// out += weights V.
template <class T>
void add_values(ScoreTile<T>& tile, const NarrowLeft& narrow, const PackedRows<T>& values, RowsResult<T>& rows) {
  const std::int64_t count = rows.i1 - rows.i0, keys = tile.keys.rows();
  if constexpr (std::is_same_v<T, float>)
    if (values.narrow)
      return multiply(narrow, *values.narrow, count, keys, rows.output_stride, rows.output.data(), rows.output_stride,
                      Store::accumulate);
  accumulate(Product<T>{{tile.row(0), tile.stride(), 1},
                        values.data,
                        values.stride,
                        count,
                        keys,
                        rows.output_stride,
                        rows.output.data(),
                        rows.output_stride},
             values.finite);
}

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

}  // namespace

template <class T>
RowsResult<T> fold_keys(const ScoreContext& context, const KeyBlocks<T>& keys, const SoftmaxPass& pass, std::int64_t b,
                        std::int64_t h, std::int64_t i0, std::int64_t i1, Span range) {
  RowsResult<T> rows{b, h, i0, i1, std::vector<SoftmaxRecord<double>>(i1 - i0), {}, {}, 0};
  if (pass.groups) rows.groups.resize(i1 - i0);
  if (pass.values) {
    rows.output_stride = padded(context.dims.d_v);
    rows.output.assign((i1 - i0) * rows.output_stride, T(0));
  }
  ScoreTile<T> tile(context);
  tile.load_queries(b, h, i0, i1);
  NarrowLeft narrow;
  // Blocks start at multiples of kKeyBlock, so a row's sums do not depend on which rows share its block.
  keys.for_each(b, context.dims.kv_head(h), range, [&](const KeyBlock<T>& block) {
    tile.load_keys(block);
    if (tile.compute(pass.groups ? Lambda::now : Lambda::may_wait) == TileVisibility::none) return;
    const bool rounds = pass.values && block.values.narrow;
    if (rounds) narrow.resize(context.planes, i1 - i0, tile.keys.rows());
    with_moments(pass.moments,
                 [&]<MomentSet set>() { fold_tile<set>(context, tile, rows, rounds ? &narrow : nullptr); });
    if (pass.values) add_values(tile, narrow, block.values, rows);
  });
  return rows;
}

template <class T>
void for_each_rows(const ScoreContext& context, const SoftmaxPass& pass,
                   const std::function<void(RowsResult<T>&)>& receive) {
  const Dims& dims = context.dims;
  const std::int64_t blocks = (dims.n_q + kQueryBlock - 1) / kQueryBlock;
  const std::int64_t splits = blocks == 1 ? std::max<std::int64_t>(1, (dims.n_k + kSplitKeys - 1) / kSplitKeys) : 1;
  const KeyBlocks<T> key_blocks(context.problem, context.planes, {.values = pass.values});
  std::vector<RowsResult<T>> pieces(splits > 1 ? dims.batch * dims.heads * splits : 0);
  Executor& executor = executor_of(context.problem);

  executor.parallel_for(dims.batch * dims.heads * blocks * splits, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t split = task % splits, block = task / splits % blocks;
      const std::int64_t h = task / splits / blocks % dims.heads, b = task / splits / blocks / dims.heads;
      // The last rows first: causal ones see the most keys, and the long tasks should not come last.
      const std::int64_t i0 = (blocks - 1 - block) * kQueryBlock, i1 = std::min(i0 + kQueryBlock, dims.n_q);
      Span keys = context.visibility.reach(b, i0, i1);
      if (splits > 1) keys = {std::max(keys.begin, split * kSplitKeys), std::min(keys.end, (split + 1) * kSplitKeys)};
      RowsResult<T> rows = fold_keys(context, key_blocks, pass, b, h, i0, i1, keys);
      if (splits == 1)
        receive(rows);
      else
        pieces[task] = std::move(rows);
    }
  });
  if (splits == 1) return;
  executor.parallel_for(dims.batch * dims.heads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      RowsResult<T>& rows = pieces[task * splits];
      for (std::int64_t split = 1; split < splits; ++split) merge_into(rows, pieces[task * splits + split]);
      receive(rows);
    }
  });
}

template RowsResult<float> fold_keys(const ScoreContext&, const KeyBlocks<float>&, const SoftmaxPass&, std::int64_t,
                                     std::int64_t, std::int64_t, std::int64_t, Span);
template RowsResult<double> fold_keys(const ScoreContext&, const KeyBlocks<double>&, const SoftmaxPass&, std::int64_t,
                                      std::int64_t, std::int64_t, std::int64_t, Span);
template void for_each_rows(const ScoreContext&, const SoftmaxPass&, const std::function<void(RowsResult<float>&)>&);
template void for_each_rows(const ScoreContext&, const SoftmaxPass&, const std::function<void(RowsResult<double>&)>&);

}  // namespace isentropic
