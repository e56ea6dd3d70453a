// Requirements of the tensor-core kernels.
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// Whether all rows of [batch, heads, n], of 16-bit elements, begin at multiples of `bytes`. The stride of an axis of
// size 1 is ignored.
inline bool rows_begin_at(const void* data, const Strides& stride, std::int64_t batch, std::int64_t heads,
                          std::int64_t n, std::uintptr_t bytes) {
  const auto step = static_cast<std::int64_t>(bytes / 2);
  const auto fits = [&](std::int64_t count, std::int64_t length) { return count <= 1 || length % step == 0; };
  return reinterpret_cast<std::uintptr_t>(data) % bytes == 0 && fits(batch, stride.batch) && fits(heads, stride.head) &&
         fits(n, stride.row);
}

// Terms that are read or tested for each score.
inline bool has_dense_terms(const Problem& p) { return p.tests.any() || p.bias.data || p.relative; }
// Terms that are computed for each score.
inline bool has_extras(const Problem& p) { return p.soft_cap > 0 || p.slopes || p.dropout > 0; }

// Supported by the forward pass.
inline bool suits_forward(const Problem& p) {
  return p.type == ElementType::bfloat16 || p.type == ElementType::float16;
}
// Supported by all kernels.
inline bool suits_tensor_cores(const Problem& p) { return suits_forward(p) && !has_dense_terms(p) && p.dropout == 0; }

// Whether the inputs can be copied 16 bytes at a time.
inline bool inputs_begin_at_chunks(const Problem& p) {
  return rows_begin_at(p.query, p.query_stride, p.batch, p.heads, p.n_q, 16) &&
         rows_begin_at(p.key, p.key_stride, p.batch, p.kv_heads, p.n_k, 16) &&
         (!p.value || rows_begin_at(p.value, p.value_stride, p.batch, p.kv_heads, p.n_k, 16));
}

inline bool has_common_width(const Problem& p) { return (p.d == 64 || p.d == 128) && (!p.value || p.d_v == p.d); }

// Heads 64 or 128 wide: with dense terms, and without them.
inline bool fits_narrow_heads(const Problem& p) {
  return suits_forward(p) && has_common_width(p) && inputs_begin_at_chunks(p);
}
inline bool fits_tensor_cores(const Problem& p) { return suits_tensor_cores(p) && fits_narrow_heads(p); }

// The forward pass itself zero-pads heads that are a whole number of chunks wide.
inline constexpr std::int64_t kWidestHead = 256, kChunkNumbers = 8;
inline bool fits_forward(const Problem& p) {
  const auto fits = [](std::int64_t width) { return width <= kWidestHead && width % kChunkNumbers == 0; };
  return fits(p.d) && (!p.value || fits(p.d_v)) && inputs_begin_at_chunks(p);
}

}  // namespace isentropic::cuda
