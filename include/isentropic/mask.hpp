// Which keys a query sees. Parts are combined by chaining calls, each at most once, and a key must pass all of them:
//
//   Mask::causal().window(4096).key_lengths({100, 80})
//
// Position. Query i has position p_i = i (Align::start, as in torch) or i + n_k - n_q (Align::end, for decoding: the
// last query is aligned with the last key). With key lengths, n_k is the length of that batch entry; within packed
// documents both lengths are the document's (its keys cut to the key length, if any) and positions count from its first
// key.
//
//   causal            j <= p_i
//   window(l, r)      p_i - l < j <= p_i + r        (window(4096): the last 4096 keys, the query's own included)
//   prefix(g)         keys j < g are exempt from causal and window (prefix language models, kept sinks)
//   strided(s, l)     |p_i - j| < l, or s divides p_i - j
//   block_sparse      layout[i / block_q, j / block_k]
//   key_lengths       j < length of the batch entry
//   documents         query and key lie in the same packed document; padding, in no document, sees nothing
//   segments(n)       documents of n positions each
//   exclude_self      j != p_i: every key but the query's own (contrastive batches)
//   exclude_keys      j != keys[i]: every key but one named per query (a target that is summed separately)
//   dense             boolean (true: visible) or additive (added to the score; -inf and the type's lowest
//                     value mean masked)
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isentropic/export.hpp"
#include "isentropic/tensor.hpp"

namespace isentropic {

enum class Align : std::uint8_t { start, end };

// Packed documents: document t contains queries [query[t], query[t+1]) and keys [key[t], key[t+1]).
struct DocumentOffsets {
  std::vector<std::int64_t> query;
  std::vector<std::int64_t> key;
};

struct ISENTROPIC_API Mask {
  struct Window {
    std::int64_t left, right;
  };
  struct Strided {
    std::int64_t stride, local;
  };
  struct BlockSparse {
    View layout;  // boolean [batch or 1, heads or 1, ceil(n_q / block_q), ceil(n_k / block_k)]
    std::int64_t block_q, block_k;
  };

  static Mask none() { return {}; }
  static Mask causal(Align align = Align::start);

  Mask aligned(Align align) const;
  Mask window(std::int64_t left, std::int64_t right = 0) const;
  Mask prefix(std::int64_t keys) const;
  Mask strided(std::int64_t stride, std::int64_t local) const;
  Mask block_sparse(View layout, std::int64_t block_q, std::int64_t block_k) const;
  Mask key_lengths(std::vector<std::int64_t> lengths) const;   // one per batch entry
  Mask documents(std::vector<std::int64_t> offsets) const;     // self-attention
  Mask documents(std::vector<DocumentOffsets> offsets) const;  // one, or one per batch entry
  Mask segments(std::int64_t length) const;
  Mask exclude_self() const;
  Mask exclude_keys(View keys) const;  // int64 [n_q], positions on the whole key axis; negative: none
  Mask dense(View mask) const;         // [batch or 1, heads or 1, n_q or 1, n_k or 1], boolean or floating

  bool excludes_keys() const { return excludes_self || excluded_keys.present(); }

  bool is_causal = false;
  Align align = Align::start;
  std::optional<Window> window_part;
  std::int64_t prefix_keys = 0;
  std::optional<Strided> strided_part;
  std::optional<BlockSparse> block_sparse_part;
  std::vector<std::int64_t> lengths;
  std::vector<DocumentOffsets> document_offsets;
  std::int64_t segment_length = 0;
  bool excludes_self = false;
  View excluded_keys;
  View dense_part;
};

}  // namespace isentropic
