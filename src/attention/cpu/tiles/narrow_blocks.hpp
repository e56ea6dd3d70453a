// 16-bit factors, packed for narrow_product.hpp.
//
// bfloat16 is packed unchanged, in one plane. float16 has three more bits than bfloat16, so it is stored as the exact
// sum of two, in a plane of high and a plane of low parts, and a product is the sum over all pairs of planes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attention/cpu/kernels/aligned.hpp"
#include "attention/cpu/kernels/narrow_product.hpp"
#include "attention/cpu/kernels/products.hpp"
#include "attention/problem/dims.hpp"
#include "base/element.hpp"

namespace isentropic {

// Number of planes of a problem's factors; 0: they are stored in the compute type.
inline int narrow_planes(const AttentionProblem& problem) {
  const NarrowKernels* narrow = active_kernels().narrow;
  if (!narrow) return 0;
  if (problem.query.type == DType::bfloat16) return 1;
  return problem.query.type == DType::float16 && narrow->splits_float16 ? 2 : 0;
}

// Left factors: [plane][rows][stride], stride a multiple of kNarrowInner, padding 0. Zero rows follow the last one up
// to a multiple of kStrip.
struct NarrowLeft {
  int planes = 0;
  std::int64_t rows = 0, stride = 0;
  Buffer<bfloat16> data;

  void resize(int planes_, std::int64_t rows_, std::int64_t width) {
    planes = planes_, rows = rows_, stride = padded_inner(width);
    data.resize(static_cast<std::size_t>(planes * padded(rows) * stride));
    for (int plane = 0; plane < planes; ++plane) std::fill(row(plane, rows), row(plane, padded(rows)), bfloat16{0});
  }
  bfloat16* row(int plane, std::int64_t r) { return data.data() + (plane * padded(rows) + r) * stride; }
  const bfloat16* row(int plane, std::int64_t r) const { return data.data() + (plane * padded(rows) + r) * stride; }

  // Rows [begin, end) of head h of a [batch, heads, n, width] tensor. Returns whether all elements are finite.
  bool load(int planes_, const View& view, std::int64_t b, std::int64_t h, std::int64_t begin, std::int64_t end) {
    const std::int64_t width = view.shape[3];
    resize(planes_, end - begin, width);
    std::vector<float> wide(static_cast<std::size_t>(padded(width)), 0.0f);
    std::uint16_t highest = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t offset = b * view.stride[0] + h * view.stride[1] + (begin + r) * view.stride[2];
      if (view.type == DType::bfloat16) {
        std::copy_n(static_cast<const bfloat16*>(view.data) + offset, width, row(0, r));
        pad_row(r, width);
      } else {
        isentropic::load(view, offset, width, wide.data());
        round_row(r, wide.data(), padded(width));
      }
      for (std::int64_t c = 0; c < width; ++c) highest = std::max<std::uint16_t>(highest, row(0, r)[c].bits & 0x7fff);
    }
    return highest < 0x7f80;  // the bits of infinity; NaN lies above
  }

  // Sets row r from n numbers, n a multiple of kStrip.
  void round_row(std::int64_t r, const float* x, std::int64_t n) {
    active_kernels().narrow->round(x, n, row(0, r), planes == 2 ? row(1, r) : nullptr);
    pad_row(r, n);
  }
  // Zeroes the padding of row r after its n elements.
  void pad_row(std::int64_t r, std::int64_t n) {
    for (int plane = 0; plane < planes; ++plane) std::fill(row(plane, r) + n, row(plane, r) + stride, bfloat16{0});
  }
};

// Right factors: [plane][strip][inner / 2][kStrip][2], padding 0.
struct NarrowRight {
  int planes = 0;
  std::int64_t inner = 0, cols = 0;
  Buffer<bfloat16> data;

  void resize(int planes_, std::int64_t inner_, std::int64_t cols_) {
    planes = planes_, inner = padded_inner(inner_), cols = padded(cols_);
    data.resize(static_cast<std::size_t>(planes * inner * cols));
  }
  std::int64_t strip_stride() const { return inner * kStrip; }
  // The pair of elements (2 pair, c), (2 pair + 1, c).
  bfloat16* pair(int plane, std::int64_t pair, std::int64_t c) {
    return data.data() + plane * inner * cols + c / kStrip * strip_stride() + (pair * kStrip + c % kStrip) * 2;
  }
  const bfloat16* plane(int plane) const { return data.data() + plane * inner * cols; }
};

// B = rows transposed: its columns are the rows.
inline void pack_columns(const NarrowLeft& rows, NarrowRight& out) {
  out.resize(rows.planes, rows.stride, rows.rows);
  for (int plane = 0; plane < rows.planes; ++plane)
    for (std::int64_t first = 0; first < rows.rows; first += kStrip)
      active_kernels().narrow->pack_columns(rows.row(plane, first), rows.stride, rows.stride / 2,
                                            out.pair(plane, 0, first));
}

// B = rows, the first `width` elements of each.
inline void pack_rows(const NarrowLeft& rows, std::int64_t width, NarrowRight& out) {
  out.resize(rows.planes, rows.rows, width);
  for (int plane = 0; plane < rows.planes; ++plane)
    for (std::int64_t r = 0; r < rows.rows; r += 2)
      for (std::int64_t c = 0; c < width; c += kStrip)
        active_kernels().narrow->pack_pair(rows.row(plane, r) + c, rows.row(plane, r + 1) + c,
                                           out.pair(plane, r / 2, c));
}

// A = rows transposed: [width][rows].
inline void transpose(const NarrowLeft& rows, std::int64_t width, NarrowLeft& out) {
  out.resize(rows.planes, width, rows.rows);
  for (int plane = 0; plane < rows.planes; ++plane)
    for (std::int64_t c = 0; c < width; ++c)
      for (std::int64_t r = 0; r < rows.rows; ++r) out.row(plane, c)[r] = rows.row(plane, r)[c];
  for (std::int64_t c = 0; c < width; ++c) out.pad_row(c, rows.rows);
}

// B = rows of numbers, [count, stride], each times its factor, or 1 without factors; stride a multiple of kStrip.
inline void round_rows(int planes, const float* rows, std::int64_t count, std::int64_t stride, const float* factor,
                       NarrowRight& out) {
  out.resize(planes, count, stride);
  const std::vector<float> nothing(static_cast<std::size_t>(stride), 0.0f);
  const auto row = [&](std::int64_t r) { return r < count ? rows + r * stride : nothing.data(); };
  const auto factor_of = [&](std::int64_t r) { return factor && r < count ? factor[r] : 1.0f; };
  for (std::int64_t r = 0; r < out.inner; r += 2)
    active_kernels().narrow->round_pair(row(r), factor_of(r), row(r + 1), factor_of(r + 1), stride, out.strip_stride(),
                                        out.pair(0, r / 2, 0), planes == 2 ? out.pair(1, r / 2, 0) : nullptr);
}

// out (+)= A B over the first `inner` elements, for rows [first, first + rows) of A and cols columns. Low planes first,
// so that little is lost to rounding while the sums are small.
inline void multiply(const NarrowLeft& a, std::int64_t first, const NarrowRight& b, std::int64_t rows,
                     std::int64_t inner, std::int64_t cols, float* out, std::int64_t out_stride, Store store,
                     OverlappedWork* overlapped = nullptr) {
  for (int left = a.planes - 1; left >= 0; --left)
    for (int right = b.planes - 1; right >= 0; --right) {
      active_kernels().narrow->product({a.row(left, first), a.stride, b.plane(right), b.strip_stride(), rows,
                                        padded_inner(inner), cols, out, out_stride, overlapped},
                                       store);
      store = Store::accumulate;
    }
}

}  // namespace isentropic
