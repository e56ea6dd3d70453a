// The spans of a row by the parts of its mask: `Visibility` of attention/problem/visibility.hpp, on the device.
#pragma once

#include "attention/cuda/rows.hpp"

namespace isentropic::cuda {

// A span of keys, numbered in the whole problem.
struct KeySpan {
  std::int64_t begin, end;
};

// A row's position, the first key of its document, and the document's keys, confined to the gap between neighbouring
// documents and to the keys that exist.
struct RowPlace {
  std::int64_t position, first_key;
  KeySpan document;
};

ISENTROPIC_HOST_DEVICE inline std::int64_t least(std::int64_t x, std::int64_t y) { return x < y ? x : y; }
ISENTROPIC_HOST_DEVICE inline std::int64_t most(std::int64_t x, std::int64_t y) { return x > y ? x : y; }
// Lists are untrusted data: whatever they contain, indices stay in bounds.
ISENTROPIC_HOST_DEVICE inline std::int64_t within(std::int64_t x, std::int64_t low, std::int64_t high) {
  return least(most(x, low), high);
}

// Small enough that sums of such counts cannot overflow.
ISENTROPIC_HOST_DEVICE inline std::int64_t bounded(std::int64_t count) { return least(count, VisibleKeys::kAll); }

ISENTROPIC_HOST_DEVICE inline std::int64_t entry_of(const IntegerList& list, std::int64_t index) {
  return list.is_short ? static_cast<const std::int32_t*>(list.data)[index]
                       : static_cast<const std::int64_t*>(list.data)[index];
}

class MaskedRow {
 public:
  ISENTROPIC_HOST_DEVICE MaskedRow(const Problem& sizes, const SpanMask& mask, std::int64_t b, std::int64_t i)
      : mask_(mask),
        n_k_(sizes.n_k),
        queries_(mask.total_queries > 0 ? mask.total_queries : sizes.n_q),
        keys_(mask.total_keys > 0 ? mask.total_keys : sizes.n_k),
        length_(mask.key_lengths.data ? within(entry_of(mask.key_lengths, b), 0, keys_) : keys_) {
    const std::int64_t query = mask.queries.data ? entry_of(mask.queries, i) : i + mask.query_offset;
    place_ = mask.query_offsets.data ? in_documents(b, query) : in_segments(query);
  }

  ISENTROPIC_HOST_DEVICE const RowPlace& place() const { return place_; }

  ISENTROPIC_HOST_DEVICE RowSpans spans() const {
    const KeySpan document = place_.document;
    const std::int64_t prefix_end = within(document.begin + bounded(mask_.prefix), document.begin, document.end);
    // Clamped to the document on both sides, even if the band is empty: the ends then increase with the row within it.
    const std::int64_t begin = within(place_.position - bounded(mask_.left) + 1, prefix_end, document.end);
    const std::int64_t ahead = least(mask_.causal ? 0 : VisibleKeys::kAll, mask_.right);
    const std::int64_t end = within(place_.position + ahead + 1, begin, document.end);
    RowSpans out = {local(document.begin), local(prefix_end), local(begin), local(end)};
    if (out.prefix_begin == out.prefix_end) out.prefix_begin = out.prefix_end = 0;
    return out;
  }

 private:
  ISENTROPIC_HOST_DEVICE std::int32_t local(std::int64_t key) const {
    return static_cast<std::int32_t>(within(key - mask_.key_offset, 0, n_k_));
  }

  ISENTROPIC_HOST_DEVICE RowPlace in_segments(std::int64_t query) const {
    const std::int64_t position = query + (mask_.aligned_to_end ? length_ - queries_ : 0);
    if (mask_.segment <= 0) return {position, 0, {0, length_}};
    if (position < 0) return {position, 0, {0, 0}};
    const std::int64_t segment = bounded(mask_.segment), first = position / segment * segment;
    return {position, first, {least(first, length_), least(first + segment, length_)}};
  }

  // Rows before the first document get an empty span before all keys; those after the last, one behind its keys.
  ISENTROPIC_HOST_DEVICE RowPlace in_documents(std::int64_t b, std::int64_t query) const {
    const std::int64_t list = mask_.documents_by_batch ? b * (mask_.documents + 1) : 0;
    const auto query_at = [&](std::int64_t t) { return within(entry_of(mask_.query_offsets, list + t), 0, queries_); };
    const auto key_at = [&](std::int64_t t) { return within(entry_of(mask_.key_offsets, list + t), 0, keys_); };
    std::int64_t after = 0, end = mask_.documents + 1;  // the first offset beyond the query lies in [after, end]
    while (after < end) {
      const std::int64_t middle = after + (end - after) / 2;
      if (query_at(middle) <= query)
        after = middle + 1;
      else
        end = middle;
    }
    if (after == 0) return {0, 0, {0, 0}};
    if (after > mask_.documents) {
      const std::int64_t behind = least(key_at(mask_.documents), length_);
      return {0, 0, {behind, behind}};
    }
    const std::int64_t t = after - 1, first = key_at(t), first_query = query_at(t);
    const KeySpan document = {least(first, length_), most(least(first, length_), least(key_at(t + 1), length_))};
    const std::int64_t size = document.end - document.begin, rows = query_at(t + 1) - first_query;
    const std::int64_t shift = mask_.aligned_to_end ? size - rows : 0;
    return {first + (query - first_query) + shift, first, document};
  }

  const SpanMask& mask_;
  std::int64_t n_k_, queries_, keys_, length_;
  RowPlace place_;
};

}  // namespace isentropic::cuda
