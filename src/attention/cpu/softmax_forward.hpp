// The streaming pass: records and unnormalised outputs of blocks of rows.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "attention/cpu/score_tile.hpp"
#include "isentropic/key_groups.hpp"

namespace isentropic {

// Rows [i0, i1) of head h of batch entry b: what a pass over (some of) their keys found.
template <class T>
struct RowsResult {
  std::int64_t b = 0, h = 0, i0 = 0, i1 = 0;
  std::vector<SoftmaxRecord<double>> records;
  std::vector<KeyGroupsRecord> groups;  // empty unless key groups were asked for
  Buffer<T> output;                     // [rows, output_stride]: sum_j e^{s_j - m} v_j; empty without values
  std::int64_t output_stride = 0;
};

// What to compute besides the records.
struct SoftmaxPass {
  MomentSet moments = MomentSet::partition;
  bool values = true;
  bool groups = false;
};

// Calls `receive` once for each block of rows, from the executor's threads, each with distinct rows. Long key axes met
// by few queries are split; how depends on the problem alone, so results do not depend on the number of threads.
template <class T>
void for_each_rows(const ScoreContext& context, const SoftmaxPass& pass,
                   const std::function<void(RowsResult<T>&)>& receive);

// The keys of `range` alone, for rows [i0, i1) of heads that share keys; a result for each head.
template <class T>
std::vector<RowsResult<T>> fold_keys(const ScoreContext& context, const KeyBlocks<T>& keys, const SoftmaxPass& pass,
                                     std::int64_t b, Span heads, std::int64_t i0, std::int64_t i1, Span range);

}  // namespace isentropic
