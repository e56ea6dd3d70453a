// The keys that a row sees, on the device.
#pragma once

#include "attention/cuda/forward.hpp"

namespace isentropic::cuda {

struct KeySpan {
  std::int32_t begin, end;
};

// Of row i, cut to the keys there are; the last row stands for those beyond.
__device__ inline KeySpan span_of(const ForwardProblem& p, std::int64_t b, std::int64_t i) {
  const VisibleKeys& visible = p.visible;
  i = min(i, p.n_q - 1);
  const std::int64_t position = i + visible.offset;
  std::int64_t begin = visible.begin ? visible.begin[b * p.n_q + i] : position - visible.left + 1;
  std::int64_t end = visible.end ? visible.end[b * p.n_q + i] : position + visible.right + 1;
  begin = min(max(begin, std::int64_t{0}), p.n_k);
  end = min(max(end, begin), p.n_k);
  return {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)};
}

__device__ inline std::int32_t prefix_of(const ForwardProblem& p, std::int64_t b) {
  return p.visible.prefix ? static_cast<std::int32_t>(min(std::int64_t{p.visible.prefix[b]}, p.n_k)) : 0;
}

// Keys of both together.
__device__ inline std::int64_t count_of(const KeySpan& span, std::int32_t prefix) {
  return prefix <= span.begin ? prefix + (span.end - span.begin) : max(prefix, span.end);
}

}  // namespace isentropic::cuda
