// The keys that a row sees, on the device.
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

__device__ inline std::int64_t position_of(const Problem& p, std::int64_t b, std::int64_t i) {
  const VisibleKeys& visible = p.visible;
  return visible.positions ? visible.positions[b * p.n_q + i] : i + visible.offset;
}

// The spans of row i, clamped to the existing keys; rows out of range get those of the last row. The band never begins
// before the end of the prefix.
__device__ inline RowSpans spans_of(const Problem& p, std::int64_t b, std::int64_t i) {
  const VisibleKeys& visible = p.visible;
  i = min(i, p.n_q - 1);
  if (visible.spans) return visible.spans[b * p.n_q + i];
  const std::int64_t position = i + visible.offset, prefix = min(visible.prefix, p.n_k);
  const std::int64_t begin = min(max(position - visible.left + 1, prefix), p.n_k);
  const std::int64_t end = min(max(position + visible.right + 1, begin), p.n_k);
  return {0, static_cast<std::int32_t>(prefix), static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)};
}

__device__ inline bool holds(const RowSpans& spans, std::int64_t j) {
  return (j >= spans.begin && j < spans.end) || (j >= spans.prefix_begin && j < spans.prefix_end);
}

__device__ inline std::int64_t count_of(const RowSpans& spans) {
  return (spans.prefix_end - spans.prefix_begin) + (spans.end - spans.begin);
}

}  // namespace isentropic::cuda
