// A mask made ready for kernels: for each row at most two spans of keys, plus a test for what is not a span.
//
// Causal, window, prefix, key lengths, documents and segments are spans. Strided, block-sparse and dense parts
// (boolean, additive, and -inf in a dense bias) are tested key by key inside the spans.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attention/dims.hpp"
#include "isentropic/attention.hpp"

namespace isentropic {

struct Span {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return std::max<std::int64_t>(0, end - begin); }
};

// Where a query lies, in positions of the whole problem's key axis.
struct RowPlace {
  std::int64_t position;  // p_i
  Span document;          // keys of its document
};

struct RowSpans {
  Span prefix, band;  // disjoint, prefix first
  std::int64_t begin() const { return prefix.size() ? prefix.begin : band.begin; }
  std::int64_t end() const { return band.size() ? band.end : prefix.end; }
};

enum class TileVisibility : std::uint8_t { none, some, all };

class Visibility {
 public:
  explicit Visibility(const AttentionProblem& problem);

  RowPlace place(std::int64_t b, std::int64_t i) const;
  // In local keys, cut to [0, n_k).
  RowSpans spans(std::int64_t b, std::int64_t i) const;
  // The local keys any of the rows [i0, i1) may see lie within this range.
  Span reach(std::int64_t b, std::int64_t i0, std::int64_t i1) const;
  TileVisibility tile(std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1, std::int64_t j0,
                      std::int64_t j1) const;

  // Sets the scores of unseen keys among [j0, j1) to -inf.
  template <class T>
  void hide(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j0, std::int64_t j1, T* scores) const {
    const RowSpans seen = spans(b, i);
    const auto hide_range = [&](std::int64_t begin, std::int64_t end) {
      begin = std::max(begin, j0), end = std::min(end, j1);
      if (begin < end) std::fill(scores + (begin - j0), scores + (end - j0), -std::numeric_limits<T>::infinity());
    };
    hide_range(j0, seen.prefix.size() ? seen.prefix.begin : seen.band.begin);
    hide_range(seen.prefix.size() ? seen.prefix.end : j0, seen.band.begin);
    hide_range(seen.band.size() ? seen.band.end : seen.prefix.end, j1);
    if (!tests_keys_) return;
    const RowPlace where = place(b, i);
    for (std::int64_t j = j0; j < j1; ++j)
      if (!passes(where, b, h, i, j)) scores[j - j0] = -std::numeric_limits<T>::infinity();
  }

  // Whether the row sees any of the local keys [j0, j1).
  bool sees(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j0, std::int64_t j1) const;

  // Keys of the whole problem that the row sees: the n of the scale laws.
  std::int64_t count(std::int64_t b, std::int64_t h, std::int64_t i) const;

  std::int64_t key_offset() const { return problem_.shard.key_offset; }

 private:
  RowSpans whole_spans(std::int64_t b, std::int64_t i) const;
  // The key-by-key parts, for local i and j.
  bool passes(const RowPlace& where, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const;
  bool passes_layout(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const;
  bool layout_hides_tile(std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1, std::int64_t j0,
                         std::int64_t j1) const;

  const AttentionProblem& problem_;
  Dims dims_;
  std::int64_t total_queries_, total_keys_;
  bool tests_keys_, tests_dense_;
};

// Whether an additive mask or bias of this element type means "masked" by this value: -inf, or the type's lowest.
bool means_masked(DType type, double value);

}  // namespace isentropic
