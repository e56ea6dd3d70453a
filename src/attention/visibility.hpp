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

  // Sets the scores of unseen keys among [j0, j1) to -inf; returns how many are seen.
  template <class T>
  std::int64_t hide(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j0, std::int64_t j1, T* scores) const {
    const RowSpans row = spans(b, i);
    const RowPlace where = place(b, i);
    std::int64_t seen = 0, from = j0;  // everything before `from` is settled
    const auto hide_until = [&](std::int64_t end) {
      for (; from < std::min(end, j1); ++from) scores[from - j0] = -std::numeric_limits<T>::infinity();
    };
    for (const Span& span : {row.prefix, row.band}) {
      hide_until(span.begin);
      for (; from < std::min(span.end, j1); ++from) {
        const bool passed = !tests_keys_ || passes(where, b, h, i, from);
        if (!passed) scores[from - j0] = -std::numeric_limits<T>::infinity();
        seen += passed;
      }
    }
    hide_until(j1);
    return seen;
  }

  // Whether the row sees any of the local keys [j0, j1).
  bool sees(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j0, std::int64_t j1) const;

  // Keys of the whole problem that the row sees: the n of the scale laws.
  std::int64_t count(std::int64_t b, std::int64_t h, std::int64_t i) const;

  std::int64_t key_offset() const { return problem_.shard.key_offset; }

 private:
  RowSpans whole_spans(std::int64_t b, std::int64_t i) const;
  bool ends_rise(std::int64_t b, std::int64_t i0, std::int64_t i1) const;
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
