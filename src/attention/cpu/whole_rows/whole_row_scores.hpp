// All scores of a few rows at once, [rows, n_k]: memory linear in n. Scores are computed by score_tile.hpp.
#pragma once

#include <span>
#include <vector>

#include "attention/cpu/tiles/score_tile.hpp"
#include "attention/cpu/whole_rows/whole_row_map.hpp"

namespace isentropic {

inline constexpr std::int64_t kBufferedRows = 8;

template <class T>
class WholeRowScores {
 public:
  WholeRowScores(const ScoreContext& context, const KeyBlocks<T>& keys)
      : tile(context), context_(context), keys_(keys) {}

  // Rows [i0, i1), at most kBufferedRows of them.
  void compute(std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1) {
    const Dims& dims = context_.dims;
    b_ = b, h_ = h, i0_ = i0;
    visible_.assign(static_cast<std::size_t>(i1 - i0), 0);
    scores_.assign((i1 - i0) * dims.n_k, -std::numeric_limits<T>::infinity());
    if (context_.problem.soft_cap) cap_derivative_.assign(scores_.size(), T(0));
    tile.load_queries(b, h, i0, i1);
    keys_.for_each(b, dims.kv_head(h), context_.visibility.reach(b, i0, i1), [&](const KeyBlock<T>& block) {
      tile.load_keys(block);
      if (tile.compute() == TileVisibility::none) return;
      for (std::int64_t r = 0; r < i1 - i0; ++r) {
        std::copy_n(tile.row(r), tile.keys.rows(), scores_.data() + r * dims.n_k + block.begin);
        visible_[r] += tile.visible(r);
        if (const T* cap = tile.cap_derivative(r))
          std::copy_n(cap, tile.keys.rows(), cap_derivative_.data() + r * dims.n_k + block.begin);
      }
    });
  }

  std::span<T> row(std::int64_t r) { return {scores_.data() + r * context_.dims.n_k, n_k()}; }
  const T* cap_derivative(std::int64_t r) const {
    return cap_derivative_.empty() ? nullptr : cap_derivative_.data() + r * context_.dims.n_k;
  }
  MapInput map_input(std::int64_t r) const {
    return {h_, context_.visibility.place(b_, i0_ + r).position - context_.visibility.keys()[0], visible_[r]};
  }

  ScoreTile<T> tile;  // its queries are those of the rows

 private:
  std::size_t n_k() const { return static_cast<std::size_t>(context_.dims.n_k); }
  const ScoreContext& context_;
  const KeyBlocks<T>& keys_;
  std::int64_t b_ = 0, h_ = 0, i0_ = 0;
  std::vector<T> scores_, cap_derivative_;
  std::vector<std::int64_t> visible_;
};

}  // namespace isentropic
