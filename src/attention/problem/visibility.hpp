// A mask prepared for kernels: at most two spans of keys per row, plus a test for the parts that are not spans.
//
// Causal, window, prefix, key lengths, documents and segments are spans. Strided, block-sparse and dense parts
// (boolean, additive, and -inf in a dense bias) are tested key by key inside the spans. Excluded keys, at most two per
// row, are removed last.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>

#include "attention/problem/dims.hpp"
#include "attention/problem/positions.hpp"
#include "isentropic/attention.hpp"

namespace isentropic {

struct Span {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return std::max<std::int64_t>(0, end - begin); }
};

// A query's location on the key axis of the whole problem.
struct QueryPlace {
  std::int64_t position;  // p_i
  Span document;          // keys of its document
};

struct VisibleSpans {
  Span prefix, band;  // disjoint, prefix first
  std::int64_t begin() const { return prefix.size() ? prefix.begin : band.begin; }
  std::int64_t end() const { return band.size() ? band.end : prefix.end; }
};

enum class TileVisibility : std::uint8_t { none, some, all };

class Visibility {
 public:
  explicit Visibility(const AttentionProblem& problem);

  QueryPlace place(std::int64_t b, std::int64_t i) const;
  // In local keys, clipped to [0, n_k).
  VisibleSpans spans(std::int64_t b, std::int64_t i) const;
  // A range that contains every local key that rows [i0, i1) may see.
  Span reach(std::int64_t b, std::int64_t i0, std::int64_t i1) const;
  TileVisibility tile(std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1, std::int64_t j0,
                      std::int64_t j1) const;

  // Sets the scores of unseen keys among [j0, j1) to -inf; returns how many are seen.
  template <class T>
  std::int64_t hide(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j0, std::int64_t j1, T* scores) const {
    constexpr T kHidden = -std::numeric_limits<T>::infinity();
    const VisibleSpans row = spans(b, i);
    std::int64_t seen = 0, from = j0;  // everything before `from` is settled
    for (const Span& span : {row.prefix, row.band}) {
      const Span part{std::clamp(span.begin, from, j1), std::clamp(span.end, from, j1)};
      std::fill(scores + (from - j0), scores + (part.begin - j0), kHidden);
      for_each_passed(b, h, i, part, [&](std::int64_t first, std::int64_t n, const std::uint8_t* passed) {
        T* s = scores + (first - j0);
        for (std::int64_t j = 0; j < n; ++j) s[j] = passed[j] ? s[j] : kHidden;
        for (std::int64_t j = 0; j < n; ++j) seen += passed[j];
      });
      if (!tests_keys_) seen += part.size();
      from = std::max(from, part.end);
    }
    std::fill(scores + (from - j0), scores + (j1 - j0), kHidden);
    for_each_excluded(b, i, [&](std::int64_t j) {
      if (j < j0 || j >= j1) return;
      seen -= passes(b, h, i, row, j);
      scores[j - j0] = kHidden;
    });
    return seen;
  }

  // How many of the local keys [j0, j1) the row sees.
  std::int64_t count(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j0, std::int64_t j1) const {
    return count_within(b, h, i, {j0, j1});
  }

  // Keys of the whole problem that the row sees: the n of the scale laws.
  std::int64_t count(std::int64_t b, std::int64_t h, std::int64_t i) const;

  // Positions of local queries and keys in the whole problem.
  const Positions& queries() const { return queries_; }
  const Positions& keys() const { return keys_; }

 private:
  VisibleSpans whole_spans(std::int64_t b, std::int64_t i) const;
  std::int64_t count_whole(std::int64_t b, std::int64_t h, std::int64_t i) const;
  bool ends_rise(std::int64_t b, std::int64_t i0, std::int64_t i1) const;
  // Applies the key-by-key parts to local keys [j0, j0 + n): passed[j] becomes 0 where one of them hides the key.
  void test_keys(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j0, std::int64_t n,
                 std::uint8_t* passed) const;
  // Applies those that need only a key's position, for positions [first, first + n).
  void test_positions(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t first, std::int64_t n,
                      std::uint8_t* passed) const;
  // Calls f(first, n, passed) for pieces of the span; test(first, n, passed) clears the flags of the keys it hides.
  template <class Test, class F>
  static void for_each_piece(Span span, Test test, F f) {
    std::uint8_t passed[256];
    for (std::int64_t first = span.begin; first < span.end; first += std::ssize(passed)) {
      const std::int64_t n = std::min<std::int64_t>(std::ssize(passed), span.end - first);
      std::fill_n(passed, n, std::uint8_t{1});
      test(first, n, passed);
      f(first, n, passed);
    }
  }
  // The same for local keys; does nothing if no test is needed.
  template <class F>
  void for_each_passed(std::int64_t b, std::int64_t h, std::int64_t i, Span span, F f) const {
    if (!tests_keys_) return;
    for_each_piece(
        span, [&](std::int64_t first, std::int64_t n, std::uint8_t* passed) { test_keys(b, h, i, first, n, passed); },
        f);
  }
  // Calls f(position) for each key the row excludes; the position may be outside the problem.
  template <class F>
  void for_each_excluded_position(std::int64_t b, std::int64_t i, F f) const {
    const Mask& mask = problem_.mask;
    const std::int64_t own = mask.excludes_self ? place(b, i).position : -1;
    if (own >= 0) f(own);
    if (!mask.excluded_keys.present()) return;
    const std::int64_t named =
        static_cast<const std::int64_t*>(mask.excluded_keys.data)[i * mask.excluded_keys.stride[0]];
    if (named >= 0 && named != own) f(named);
  }
  // Calls f(j) for each local key the row excludes.
  template <class F>
  void for_each_excluded(std::int64_t b, std::int64_t i, F f) const {
    for_each_excluded_position(b, i, [&](std::int64_t position) {
      if (const std::int64_t j = keys_.place_of(position); j >= 0) f(j);
    });
  }
  std::int64_t count_within(std::int64_t b, std::int64_t h, std::int64_t i, Span range) const;
  // Whether the row sees local key j, ignoring exclusions.
  bool passes(std::int64_t b, std::int64_t h, std::int64_t i, const VisibleSpans& row, std::int64_t j) const;
  // Takes positions.
  bool passes_layout(std::int64_t b, std::int64_t h, std::int64_t query, std::int64_t key) const;
  bool layout_hides_tile(std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1, std::int64_t j0,
                         std::int64_t j1) const;

  const AttentionProblem& problem_;
  Dims dims_;
  Positions queries_, keys_;
  std::int64_t total_queries_, total_keys_;
  bool tests_keys_, tests_dense_;
};

}  // namespace isentropic
