// Masks are built part by part; each part checks its own numbers.
#include "isentropic/mask.hpp"

#include <algorithm>

#include "base/checks.hpp"

namespace isentropic {
namespace {

// Farther than any key: "no limit" may be given as the largest integer, and sums with positions must not overflow.
std::int64_t at_most_far(std::int64_t value) { return std::min<std::int64_t>(value, std::int64_t{1} << 60); }

void require_first(const char* part, bool present) {
  if (present) throw Error(std::string("mask ") + part, "given twice", "each part once");
}

template <class Change>
Mask changed(Mask mask, Change change) {
  change(mask);
  return mask;
}

}  // namespace

Mask Mask::causal(Align align) {
  return changed({}, [&](Mask& mask) {
    mask.is_causal = true;
    mask.align = align;
  });
}

Mask Mask::aligned(Align value) const {
  return changed(*this, [&](Mask& mask) { mask.align = value; });
}

Mask Mask::window(std::int64_t left, std::int64_t right) const {
  require_at_least("window left", left, 1);
  require_at_least("window right", right, 0);
  require_first("window", window_part.has_value());
  return changed(*this, [&](Mask& mask) { mask.window_part = Window{at_most_far(left), at_most_far(right)}; });
}

Mask Mask::prefix(std::int64_t keys) const {
  require_at_least("prefix", keys, 0);
  require_first("prefix", prefix_keys > 0);
  return changed(*this, [&](Mask& mask) { mask.prefix_keys = at_most_far(keys); });
}

Mask Mask::strided(std::int64_t stride, std::int64_t local) const {
  require_at_least("stride", stride, 1);
  require_at_least("local", local, 0);
  require_first("strided", strided_part.has_value());
  return changed(*this, [&](Mask& mask) { mask.strided_part = Strided{at_most_far(stride), at_most_far(local)}; });
}

Mask Mask::block_sparse(View layout, std::int64_t block_q, std::int64_t block_k) const {
  require_at_least("block_q", block_q, 1);
  require_at_least("block_k", block_k, 1);
  require_first("block_sparse", block_sparse_part.has_value());
  return changed(*this, [&](Mask& mask) { mask.block_sparse_part = BlockSparse{std::move(layout), block_q, block_k}; });
}

Mask Mask::key_lengths(std::vector<std::int64_t> values) const {
  require_first("key_lengths", !lengths.empty());
  return changed(*this, [&](Mask& mask) { mask.lengths = std::move(values); });
}

Mask Mask::documents(std::vector<std::int64_t> offsets) const {
  return documents(std::vector<DocumentOffsets>{{offsets, offsets}});
}

Mask Mask::documents(std::vector<DocumentOffsets> offsets) const {
  require_first("documents", !document_offsets.empty());
  return changed(*this, [&](Mask& mask) { mask.document_offsets = std::move(offsets); });
}

Mask Mask::segments(std::int64_t length) const {
  require_at_least("segment length", length, 1);
  require_first("segments", segment_length > 0);
  return changed(*this, [&](Mask& mask) { mask.segment_length = at_most_far(length); });
}

Mask Mask::exclude_self() const {
  return changed(*this, [](Mask& mask) { mask.excludes_self = true; });
}

Mask Mask::exclude_keys(View keys) const {
  require_first("exclude_keys", excluded_keys.present());
  return changed(*this, [&](Mask& mask) { mask.excluded_keys = std::move(keys); });
}

Mask Mask::dense(View mask_values) const {
  require_first("dense", dense_part.present());
  return changed(*this, [&](Mask& mask) { mask.dense_part = std::move(mask_values); });
}

}  // namespace isentropic
