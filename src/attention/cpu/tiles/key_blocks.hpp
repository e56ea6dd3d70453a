// Keys and values in blocks of kKeyBlock, packed once per pass and shared by all its tasks and query heads.
//
// Transposed blocks are stored in panels of kPanel columns, [panel][width][kPanel]: a panel fits in L1, and rows of
// scores are products with it. Row-major blocks are read in place if type and width allow, otherwise converted and
// padded. This takes as much memory as keys and values again, linear in n.
//
// A block never crosses the end of a run of consecutive positions (Shard), so its positions count up from its first
// key.
//
// If the problem and the CPU have 16-bit factors (narrow_blocks.hpp), blocks are packed as those instead.
//
// Packing does not pay off for few rows: with at most kFewRows of them (decoding) keys and values are read in place in
// their own type, or converted each time a task visits a block and then discarded. The choice depends only on the
// problem.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attention/cpu/kernels/few_rows.hpp"
#include "attention/cpu/tiles/blocks.hpp"
#include "attention/problem/visibility.hpp"

namespace isentropic {

inline constexpr std::int64_t kPanel = 64;
inline constexpr std::int64_t kFewRows = 4;

// Rows of a packed tensor in the form products read: [rows, stride], width rounded up to kPad; or in 16 bits.
template <class T>
struct PackedRows {
  const T* data = nullptr;
  std::int64_t stride = 0;
  bool finite = true;
  const NarrowRight* narrow = nullptr;
  InPlace in_place;  // for few rows
};

// Rows transposed, as panels or in 16 bits.
template <class T>
struct PackedColumns {
  const T* panels = nullptr;
  const NarrowRight* narrow = nullptr;
  bool present() const { return panels || narrow; }
};

template <class T>
struct KeyBlock {
  std::int64_t begin = 0, end = 0;
  PackedColumns<T> transposed_keys;    // for scores; absent for few rows
  PackedColumns<T> transposed_values;  // for d loss / d weights
  PackedRows<T> keys, values;

  std::int64_t rows() const { return end - begin; }
  std::int64_t stride() const { return padded(rows()); }
};

// out[r, j] = factor_r sum_c rows[first + r, c] columns[c, j] for `count` rows and the keys of a block; without
// factors, factor_r = 1.
template <class T>
void multiply_columns(const LoadedRows<T>& rows, std::int64_t first, std::int64_t count,
                      const PackedColumns<T>& columns, std::int64_t keys, T* out, const T* row_factor = nullptr,
                      OverlappedWork* overlapped = nullptr) {
  const std::int64_t stride = padded(keys);
  if constexpr (std::is_same_v<T, float>) {
    if (columns.narrow) {
      multiply(rows.narrow, first, *columns.narrow, count, rows.width, stride, out, stride, Store::overwrite,
               overlapped);
      for (std::int64_t r = 0; row_factor && r < count; ++r)
        active_kernels().narrow->scale(out + r * stride, stride, row_factor[r]);
      return;
    }
  }
  for (std::int64_t j = 0; j < stride; j += kPanel)
    product<Store::overwrite>(Product<T>{{rows.row(first), rows.stride(), 1},
                                         columns.panels + j * rows.width,
                                         kPanel,
                                         count,
                                         rows.width,
                                         std::min(kPanel, stride - j),
                                         out + j,
                                         stride,
                                         row_factor});
}

// out[r, c] += sum_j weights[r, j] values[j, c]
template <class T>
void add_weighted(const T* weights, std::int64_t weight_stride, std::int64_t rows, const PackedRows<T>& values,
                  std::int64_t keys, T* out, std::int64_t out_stride) {
  if (values.in_place.data)
    weigh(FewRowsProduct<T>{weights, weight_stride, rows, values.in_place, keys, out_stride, out, out_stride, nullptr});
  else
    accumulate(
        Product<T>{{weights, weight_stride, 1}, values.data, values.stride, rows, keys, out_stride, out, out_stride},
        values.finite);
}

// What a pass needs.
struct KeyNeeds {
  bool keys = false;               // row-major keys, for dQ
  bool values = false;             // row-major values, for the output
  bool transposed_values = false;  // for d loss / d weights
  bool by_index = false;           // block() is called, not only for_each()
};

template <class T>
class KeyBlocks {
 public:
  // planes: the number of 16-bit planes, or 0 for the compute type; the same as in the ScoreContext of the pass.
  KeyBlocks(const AttentionProblem& problem, int planes, const KeyNeeds& needs)
      : problem_(problem),
        dims_(problem),
        planes_(planes),
        needs_(needs),
        few_rows_(dims_.n_q <= kFewRows),
        checks_keys_(needs.keys),
        begins_(block_begins(problem)) {
    needs_.keys = needs_.keys || few_rows_;
    if (few_rows_ && !needs_.by_index) return;  // prepared when visited
    blocks_.resize(dims_.batch * dims_.kv_heads * count());
    storage_.resize(blocks_.size());
    executor_of(problem).parallel_for(std::ssize(blocks_), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t index = begin; index < end; ++index) pack(index, blocks_[index], storage_[index]);
    });
  }

  std::int64_t count() const { return std::ssize(begins_) - 1; }
  const KeyBlock<T>& block(std::int64_t b, std::int64_t kv_head, std::int64_t index) const {
    return blocks_[(b * dims_.kv_heads + kv_head) * count() + index];
  }

  // Calls f(block) for the blocks that contain keys of the range.
  template <class F>
  void for_each(std::int64_t b, std::int64_t kv_head, Span range, F f) const {
    KeyBlock<T> visited;
    Storage storage;
    const auto first = std::upper_bound(begins_.begin(), begins_.end(), range.begin) - begins_.begin() - 1;
    for (std::int64_t index = first; begins_[index] < range.end; ++index) {
      if (blocks_.empty()) pack((b * dims_.kv_heads + kv_head) * count() + index, visited, storage);
      f(blocks_.empty() ? visited : block(b, kv_head, index));
    }
  }

 private:
  struct NarrowStorage {
    NarrowRight columns, rows;
  };
  struct Storage {
    LoadedRows<T> keys, values;
    Buffer<T> transposed_keys, transposed_values;
    NarrowStorage narrow_keys, narrow_values;
  };

  // Multiples of kKeyBlock and the ends of runs; n_k comes last.
  static std::vector<std::int64_t> block_begins(const AttentionProblem& problem) {
    const std::int64_t n = problem.key.shape[2];
    const Positions positions(problem.shard.key_runs, n);
    std::vector<std::int64_t> begins{0};
    while (begins.back() < n)
      begins.push_back(std::min({n, (begins.back() / kKeyBlock + 1) * kKeyBlock, positions.run_end(begins.back())}));
    return begins;
  }

  void pack(std::int64_t index, KeyBlock<T>& block, Storage& storage) const {
    const std::int64_t b = index / count() / dims_.kv_heads, head = index / count() % dims_.kv_heads;
    block.begin = begins_[index % count()];
    block.end = begins_[index % count() + 1];
    if (planes_ > 0) {
      pack_narrow(problem_.key, b, head, block, storage.keys, storage.narrow_keys, &block.transposed_keys,
                  needs_.keys ? &block.keys : nullptr);
      if (needs_.values || needs_.transposed_values)
        pack_narrow(problem_.value, b, head, block, storage.values, storage.narrow_values,
                    needs_.transposed_values ? &block.transposed_values : nullptr,
                    needs_.values ? &block.values : nullptr);
      return;
    }
    if (few_rows_ && !checks_keys_ && !needs_.transposed_values) return pack_few(b, head, block, storage);
    const Feature feature = feature_of(problem_.map);
    block.keys = rows(problem_.key, b, head, block, feature, checks_keys_ ? Check::finite : Check::nothing,
                      storage.keys, key_factor(problem_, b));
    block.keys.in_place = {block.keys.data, DTypeOf<T>::value, block.keys.stride};
    if (!few_rows_)
      block.transposed_keys.panels = transpose(block.keys, block.rows(), dims_.d, storage.transposed_keys);
    if (needs_.values || needs_.transposed_values)
      block.values = rows(problem_.value, b, head, block, Feature::identity, Check::finite, storage.values);
    if (needs_.transposed_values)
      block.transposed_values.panels = transpose(block.values, block.rows(), dims_.d_v, storage.transposed_values);
    // Intermediate results are not kept.
    if (!needs_.keys) storage.keys = {}, block.keys.data = nullptr;
    if (!needs_.values) storage.values = {}, block.values.data = nullptr;
  }

  // For a forward pass of few rows.
  void pack_few(std::int64_t b, std::int64_t head, KeyBlock<T>& block, Storage& storage) const {
    const auto place = [&](const View& view, Feature feature, double factor, LoadedRows<T>& converted) -> InPlace {
      const std::int64_t offset = b * view.stride[0] + head * view.stride[1] + block.begin * view.stride[2];
      if (view.shape[3] % kPad == 0 && feature == Feature::identity)
        return {static_cast<const std::byte*>(view.data) + offset * size_of(view.type), view.type, view.stride[2]};
      converted.load(view, b, head, block.begin, block.end);
      converted.apply(feature, factor);
      return {converted.data.data(), DTypeOf<T>::value, converted.stride()};
    };
    block.keys.in_place = place(problem_.key, feature_of(problem_.map), key_factor(problem_, b), storage.keys);
    if (needs_.values) block.values.in_place = place(problem_.value, Feature::identity, 1, storage.values);
  }

  // Packs one tensor's rows in 16 bits, as columns, rows or both. Non-finite rows stay in the compute type, because
  // weights of 0 must skip them.
  void pack_narrow(const View& view, std::int64_t b, std::int64_t head, const KeyBlock<T>& block, LoadedRows<T>& loaded,
                   NarrowStorage& storage, PackedColumns<T>* columns, PackedRows<T>* rows) const {
    loaded.load(view, b, head, block.begin, block.end, planes_);
    const bool finite = loaded.finite;
    if (columns) pack_columns(loaded.narrow, storage.columns), columns->narrow = &storage.columns;
    if (rows && finite) pack_rows(loaded.narrow, loaded.width, storage.rows), rows->narrow = &storage.rows;
    loaded = {};
    if (rows && !finite) *rows = this->rows(view, b, head, block, Feature::identity, Check::finite, loaded);
  }

  // Forward passes do not multiply by row-major keys, so those need no check, which would be costly in memory-bound
  // decoding.
  enum class Check : std::uint8_t { finite, nothing };

  // In place if the memory already has the form products read.
  static PackedRows<T> rows(const View& view, std::int64_t b, std::int64_t head, const KeyBlock<T>& block,
                            Feature feature, Check check, LoadedRows<T>& storage, double factor = 1) {
    const std::int64_t width = view.shape[3];
    if (view.type == DTypeOf<T>::value && width % kPad == 0 && feature == Feature::identity) {
      PackedRows<T> out{
          static_cast<const T*>(view.data) + b * view.stride[0] + head * view.stride[1] + block.begin * view.stride[2],
          view.stride[2],
          true,
          nullptr,
          {}};
      for (std::int64_t r = 0; check == Check::finite && r < block.rows() && out.finite; ++r)
        out.finite = all_finite(out.data + r * out.stride, width);
      return out;
    }
    storage.load(view, b, head, block.begin, block.end);
    storage.apply(feature, factor);
    return {storage.data.data(), storage.stride(), storage.finite, nullptr, {}};
  }

  static const T* transpose(const PackedRows<T>& rows, std::int64_t count, std::int64_t width, Buffer<T>& out) {
    const std::int64_t panels = (count + kPanel - 1) / kPanel;
    out.assign(static_cast<std::size_t>(panels * kPanel * width), T(0));
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      T* to = out.data() + panel * kPanel * width;
      const std::int64_t here = std::min(kPanel, count - panel * kPanel);
      for (std::int64_t c = 0; c < width; ++c)
        for (std::int64_t r = 0; r < here; ++r) to[c * kPanel + r] = rows.data[(panel * kPanel + r) * rows.stride + c];
    }
    return out.data();
  }

  const AttentionProblem& problem_;
  Dims dims_;
  int planes_;
  KeyNeeds needs_;
  bool few_rows_, checks_keys_;
  std::vector<std::int64_t> begins_;  // of the blocks, and the end of the last one
  std::vector<KeyBlock<T>> blocks_;
  std::vector<Storage> storage_;
};

}  // namespace isentropic
