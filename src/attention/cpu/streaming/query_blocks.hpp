// The streaming pass: records and unnormalised outputs of blocks of rows.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "attention/cpu/tiles/score_tile.hpp"
#include "isentropic/key_groups.hpp"

namespace isentropic {

// The result of a pass over (some of) the keys for rows [i0, i1) of heads [h, h + heads) of batch entry b, head by
// head.
template <class T>
struct QueryBlockResult {
  std::int64_t b = 0, h = 0, heads = 1, i0 = 0, i1 = 0;
  std::vector<SoftmaxRecord<double>> records;
  std::vector<KeyGroupsRecord> groups;  // empty unless key groups were requested
  Buffer<T> output;                     // [rows, output_stride]: sum_j e^{s_j - m} v_j; empty without values
  std::int64_t output_stride = 0;

  std::int64_t rows() const { return heads * (i1 - i0); }
  std::int64_t head(std::int64_t r) const { return h + r / (i1 - i0); }
  std::int64_t query(std::int64_t r) const { return i0 + r % (i1 - i0); }
  // Null if there are none.
  T* sum(std::int64_t r) { return output.empty() ? nullptr : output.data() + r * output_stride; }
  const T* sum(std::int64_t r) const { return output.empty() ? nullptr : output.data() + r * output_stride; }
  const KeyGroupsRecord* groups_of(std::int64_t r) const { return groups.empty() ? nullptr : &groups[r]; }
};

// What to compute besides the records.
struct SoftmaxPass {
  MomentSet moments = MomentSet::partition;
  bool values = true;
  bool groups = false;
};

// Calls `receive` once for each block of rows, from the executor's threads, each with distinct rows. Long key axes with
// few queries are split in a way that depends only on the problem, so results do not depend on the number of threads.
template <class T>
void for_each_query_block(const ScoreContext& context, const SoftmaxPass& pass,
                          const std::function<void(QueryBlockResult<T>&)>& receive);

// Only the keys of `range`, for rows [i0, i1) of heads that share keys: several heads if there are few rows.
template <class T>
QueryBlockResult<T> fold_keys(const ScoreContext& context, const KeyBlocks<T>& keys, const SoftmaxPass& pass,
                              std::int64_t b, Span heads, std::int64_t i0, std::int64_t i1, Span range);

}  // namespace isentropic
