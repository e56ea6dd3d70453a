// The tiles of keys that a warp's 16 rows see: which are visited, and in which no row needs a test.
#pragma once

#include "attention/cuda/visible_keys.cuh"

namespace isentropic::cuda {

struct KeyRange {
  int begin, end;  // empty unless begin < end
};

__device__ inline bool holds(const KeyRange& range, int j) { return j >= range.begin && j < range.end; }
__device__ inline int overlap(const KeyRange& x, const KeyRange& y) {
  return max(0, min(x.end, y.end) - max(x.begin, y.begin));
}

// The keys of one row, clamped to those that exist.
struct RowKeys {
  KeyRange prefix, band;
};

__device__ inline RowKeys keys_of_row(const Problem& p, std::int64_t b, std::int64_t i) {
  const RowSpans spans = spans_of(p, b, i);
  const int n = static_cast<int>(p.n_k);
  return {{max(spans.prefix_begin, 0), min(spans.prefix_end, n)}, {max(spans.begin, 0), min(spans.end, n)}};
}

__device__ inline bool holds(const RowKeys& keys, int j) { return holds(keys.prefix, j) || holds(keys.band, j); }

// The smallest range that covers what any row sees, and the range that every row sees; a lane supplies two rows, each
// with a flag whether it is part of the problem.
struct RangesOfRows {
  KeyRange any, all;
};

__device__ inline RangesOfRows ranges_of_rows(const KeyRange& x, bool x_there, const KeyRange& y, bool y_there) {
  constexpr unsigned kLanes = 0xffffffffu;
  constexpr int kMost = static_cast<int>(VisibleKeys::kAll);
  const bool x_any = x_there && x.begin < x.end, y_any = y_there && y.begin < y.end;
  RangesOfRows out;
  out.any.begin = __reduce_min_sync(kLanes, min(x_any ? x.begin : kMost, y_any ? y.begin : kMost));
  out.any.end = __reduce_max_sync(kLanes, max(x_any ? x.end : 0, y_any ? y.end : 0));
  out.all.begin = __reduce_max_sync(kLanes, max(x_there ? x.begin : 0, y_there ? y.begin : 0));
  out.all.end = __reduce_min_sync(kLanes, min(x_there ? x.end : kMost, y_there ? y.end : kMost));
  return out;
}

// The tiles of the prefix, then the remaining ones of the band, numbered by turns from 0.
template <int kKeys>
struct VisitedTiles {
  RangesOfRows prefix, band;  // keys
  KeyRange prefix_tiles, band_tiles;

  __device__ VisitedTiles(const RangesOfRows& prefix_, const RangesOfRows& band_) : prefix(prefix_), band(band_) {
    prefix_tiles = tiles_of(prefix.any);
    band_tiles = tiles_of(band.any);
    band_tiles.begin = max(band_tiles.begin, prefix_tiles.end);
    band_tiles.end = max(band_tiles.begin, band_tiles.end);
  }

  __device__ int count() const { return in_prefix() + band_tiles.end - band_tiles.begin; }
  __device__ int first_key(int turn) const {
    return (turn < in_prefix() ? prefix_tiles.begin + turn : band_tiles.begin + turn - in_prefix()) * kKeys;
  }

  // Whether any row may see key j, judged by ranges alone.
  __device__ bool is_seen(int j) const { return holds(prefix.any, j) || holds(band.any, j); }
  // Whether every row sees the whole tile at j0.
  __device__ bool is_seen_by_all(int j0) const {
    return (j0 >= band.all.begin && j0 + kKeys <= band.all.end) ||
           (j0 >= prefix.all.begin && j0 + kKeys <= prefix.all.end);
  }

  // Number of a row's keys in the turns [first, last).
  __device__ int count_seen(const RowKeys& row, int first, int last) const {
    const KeyRange in_first = keys_of(prefix_tiles.begin + min(first, in_prefix()),  //
                                      prefix_tiles.begin + min(last, in_prefix()));
    const KeyRange in_second = keys_of(band_tiles.begin + max(first - in_prefix(), 0),  //
                                       band_tiles.begin + max(last - in_prefix(), 0));
    return overlap(row.prefix, in_first) + overlap(row.band, in_first) + overlap(row.prefix, in_second) +
           overlap(row.band, in_second);
  }

 private:
  __device__ static KeyRange tiles_of(const KeyRange& keys) {
    if (keys.begin >= keys.end) return {0, 0};
    return {keys.begin / kKeys, (keys.end - 1) / kKeys + 1};
  }
  __device__ static KeyRange keys_of(int first_tile, int last_tile) { return {first_tile * kKeys, last_tile * kKeys}; }
  __device__ int in_prefix() const { return prefix_tiles.end - prefix_tiles.begin; }
};

}  // namespace isentropic::cuda
