// Blocks of rows, converted to the compute type and laid out for products.hpp.
//
// This file and key_blocks.hpp are the only places that read query, key and value memory: a paged cache would only need
// changes here.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/cpu/kernels/products.hpp"
#include "attention/cpu/tiles/features.hpp"
#include "attention/cpu/tiles/narrow_blocks.hpp"
#include "attention/passes/passes.hpp"
#include "attention/problem/dims.hpp"
#include "base/element.hpp"

namespace isentropic {

// Rows [begin, end) of a [batch, heads, n, width] tensor as [rows, padded width], padding 0; or as 16-bit factors.
// Several heads are stored consecutively.
template <class T>
struct LoadedRows {
  std::int64_t begin = 0, end = 0, heads = 1, width = 0;
  Buffer<T> data;
  NarrowLeft narrow;  // used instead of `data` if it has planes
  bool finite = true;

  std::int64_t rows_of_head() const { return end - begin; }
  std::int64_t rows() const { return heads * rows_of_head(); }
  std::int64_t stride() const { return padded(width); }
  const T* row(std::int64_t r) const { return data.data() + r * stride(); }

  void load(const View& view, std::int64_t b, std::int64_t h, std::int64_t begin_, std::int64_t end_, int planes = 0) {
    if (planes == 0) return load_heads(view, b, h, 1, begin_, end_);
    begin = begin_, end = end_, heads = 1, width = view.shape[3];
    finite = narrow.load(planes, view, b, h, begin, end);
  }

  // The rows of heads [h, h + heads_).
  void load_heads(const View& view, std::int64_t b, std::int64_t h, std::int64_t heads_, std::int64_t begin_,
                  std::int64_t end_) {
    begin = begin_, end = end_, heads = heads_, width = view.shape[3], finite = true;
    narrow.planes = 0;
    data.assign(static_cast<std::size_t>(rows() * stride()), T(0));
    for (std::int64_t r = 0; r < rows(); ++r) {
      const std::int64_t head = h + r / rows_of_head(), i = begin + r % rows_of_head();
      const std::int64_t offset = b * view.stride[0] + head * view.stride[1] + i * view.stride[2];
      const bool row_finite = isentropic::load(view, offset, width, data.data() + r * stride());
      finite = finite && row_finite;
    }
  }

  // phi(factor x).
  void apply(Feature feature, double factor = 1) {
    if (feature == Feature::identity) return;
    for (std::int64_t r = 0; r < rows(); ++r)
      for (std::int64_t c = 0; c < width; ++c)
        data[r * stride() + c] = feature_value(feature, static_cast<T>(factor) * data[r * stride() + c]);
    finite = all_finite(data.data(), std::ssize(data));
  }
};

// The feature map applied to q and k, for maps that are linear in it.
inline Feature feature_of(const ScoreMap& map) {
  return map.kind() == ScoreMap::Kind::linear ? map.feature() : Feature::identity;
}

}  // namespace isentropic
