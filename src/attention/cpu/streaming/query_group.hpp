// A group of rows against one block of keys, in steps that can overlap with the products of another group.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "attention/cpu/streaming/groups_fold.hpp"
#include "attention/cpu/streaming/query_blocks.hpp"
#include "attention/cpu/tiles/dropout.hpp"

namespace isentropic {

// Some rows of the result against one block of keys: scores, then weights row by row, then weights times values.
template <class T>
class QueryGroup final : public OverlappedWork {
 public:
  QueryGroup(const ScoreContext& context, const SoftmaxPass& pass, const LoadedRows<T>& queries,
             QueryBlockResult<T>& rows)
      : context_(context),
        pass_(pass),
        queries_(queries),
        rows_(rows),
        tile_(context),
        piece_(std::max<std::int64_t>(
            2 * kLanes, (1 << 15) / (padded_inner(context.dims.d) + padded_inner(context.dims.d_v)) / 32 * 32)) {}

  // To be called once the queries are loaded.
  void use_queries() {
    tile_.use_queries(rows_.b, rows_.h, queries_);
    for (std::int64_t row = 0; pass_.groups && row < rows_.rows(); ++row)
      bounds_.emplace_back(context_.visibility.place(rows_.b, rows_.query(row)), context_.problem.statistics);
  }

  // Returns false if none of the rows sees a key of the block.
  bool score(std::int64_t first, std::int64_t count, const KeyBlock<T>& block, OverlappedWork* overlapped) {
    first_ = first, values_ = block.values;
    tile_.select_rows(first, count);
    tile_.load_keys(block);
    if (tile_.compute(Lambda::may_wait, overlapped) == TileVisibility::none) return false;
    if (rounds()) narrow_.resize(context_.planes, count, tile_.keys.rows());
    shrink_.resize(count);
    rows_left_ = count;
    return scored_ = true;
  }

  // Turns the next scores into weights.
  void step() override { fold(piece_); }

  // Processes the remaining rows, then the values; a no-op if there are no scores.
  void finish(OverlappedWork* overlapped) {
    while (rows_left_ > 0) fold(tile_.stride());
    if (std::exchange(scored_, false) && pass_.values) add_values(overlapped);
  }

 private:
  void add_values(OverlappedWork* overlapped) {
    const std::int64_t keys = tile_.keys.rows(), stride = rows_.output_stride;
    T* out = rows_.output.data() + first_ * stride;
    for (std::int64_t r = 0; r < tile_.rows(); ++r) {
      const T shrink = shrink_[r];
      if (shrink == T(1)) continue;
      for (std::int64_t c = 0; c < stride; ++c) out[r * stride + c] *= shrink;
    }
    if constexpr (std::is_same_v<T, float>)
      if (rounds())
        return multiply(narrow_, 0, *values_.narrow, tile_.rows(), keys, stride, out, stride, Store::accumulate,
                        overlapped);
    add_weighted(tile_.row(0), tile_.stride(), tile_.rows(), values_, keys, out, stride);
  }

  // Whether weights are multiplied with the values in 16 bits.
  bool rounds() const { return pass_.values && values_.narrow; }
  // Whether, in addition, nothing needs them in 32 bits.
  bool rounds_at_once() const { return rounds() && context_.planes == 1 && !context_.problem.dropout && !pass_.groups; }

  // Folds up to `count` scores of the current row.
  void fold(std::int64_t count) {
    if (rows_left_ == 0) return;
    const std::int64_t r = tile_.rows() - rows_left_;
    if (!row_begun_) begin_row(r);
    if (pass_.groups) {
      end_row(r, fold_row_by_groups(r));
      --rows_left_;
      return;
    }
    row_begun_ = row_.add(pass_.moments, count, rounds_at_once() ? narrow_.row(0, r) : nullptr);
    if (row_begun_) return;
    end_row(r, row_.end());
    --rows_left_;
  }

  T fold_row_by_groups(std::int64_t r) {
    const std::int64_t row = first_ + r;
    const KeyRuns runs(tile_.keys.rows(), context_.visibility.keys()[tile_.keys.begin], bounds_[row]);
    const std::int64_t visible = tile_.visible(r);
    const auto count = [&](const KeyRun& run) {
      if (visible == tile_.keys.rows()) return run.end - run.begin;
      return context_.visibility.count(rows_.b, rows_.head(row), rows_.query(row), tile_.keys.begin + run.begin,
                                       tile_.keys.begin + run.end);
    };
    return row_.end_with([&](T* s, std::int64_t n, T factor, T highest, T m) {
      return groups_fold_.fold(pass_.moments, s, n, factor, highest, m, runs, visible, count, rows_.groups[row]);
    });
  }

  void begin_row(std::int64_t r) {
    row_.begin(rows_.records[first_ + r], tile_.row(r), tile_.stride(), tile_.pending_factor(r),
               context_.visibility.keys()[tile_.keys.begin], tile_.visible(r));
  }

  // shrink: the factor for the output so far.
  void end_row(std::int64_t r, T shrink) {
    const std::int64_t row = first_ + r;
    shrink_[r] = shrink;
    if (!pass_.values) return;
    apply_dropout(context_, rows_.b, rows_.head(row), rows_.query(row), tile_.keys.begin, tile_.keys.rows(),
                  tile_.row(r));
    if (rounds_at_once()) return narrow_.pad_row(r, tile_.stride());
    if constexpr (std::is_same_v<T, float>)
      if (rounds()) narrow_.round_row(r, tile_.row(r), tile_.stride());
  }

  const ScoreContext& context_;
  const SoftmaxPass& pass_;
  const LoadedRows<T>& queries_;
  QueryBlockResult<T>& rows_;
  ScoreTile<T> tile_;
  PackedRows<T> values_;
  bool scored_ = false, row_begun_ = false;
  std::int64_t first_ = 0, rows_left_ = 0;
  std::int64_t piece_;  // scores per step, so that one block's product makes enough step() calls to process them all
  RecordFold<T> row_;
  std::vector<T> shrink_;            // factors for the output so far, which is relative to an older maximum
  NarrowLeft narrow_;                // the weights in 16 bits
  std::vector<GroupBounds> bounds_;  // of all rows, for key groups
  GroupsFold<T> groups_fold_;
};

}  // namespace isentropic
