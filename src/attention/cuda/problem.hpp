// A softmax attention problem on an NVIDIA GPU, as every kernel of this folder reads it.
//
// Framework-free: takes pointers, strides, sizes and a stream, and returns the launch error. Nothing is allocated and
// no call waits for the device; data on the device (spans, scales, sinks, slopes, seeds) is read there, and clamped
// rather than validated.
//
// Real numbers that are not inputs (sums, scales, sinks, statistics) are float32, and float64 where the inputs are.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <limits>

#include "isentropic/softmax_record.hpp"

namespace isentropic::cuda {

enum class ElementType : std::uint8_t { bfloat16, float16, float32, float64, boolean };

// Strides of batch, head and row, in elements; the last axis is contiguous.
struct Strides {
  std::int64_t batch = 0, head = 0, row = 0;
};

// Row i sees the keys [prefix_begin, prefix_end) and [begin, end), where begin >= prefix_end.
struct alignas(16) RowSpans {
  std::int32_t prefix_begin, prefix_end, begin, end;
};

// Without spans, row i at position p = i + offset sees the keys [0, prefix) and those of the band [p - left + 1, p +
// right]. Keys and positions are counted from the first local key.
struct VisibleKeys {
  static constexpr std::int64_t kAll = std::numeric_limits<std::int32_t>::max();
  const RowSpans* spans = nullptr;          // [batch, n_q]; begin and end never decrease with i
  bool prefix_varies = false;               // among the rows of a batch entry
  const std::int32_t* positions = nullptr;  // p, [batch, n_q], from the first local key; null: i + offset
  std::int64_t offset = 0;
  std::int64_t left = kAll, right = kAll, prefix = 0;
};

// [batch, heads, n_q, n_k] with any strides, 0 for broadcast axes.
struct DenseTerm {
  const void* data = nullptr;  // null: none
  ElementType type = ElementType::float32;
  std::int64_t stride[4] = {};
};

// Tests applied key by key, within the spans.
struct KeyTests {
  std::int64_t stride = 0, local = 0;  // |p - j| < local, or stride divides p - j; 0: not used
  const bool* layout = nullptr;        // of blocks [batch, heads, n_q / block_q, n_k / block_k]
  std::int64_t layout_stride[4] = {};
  std::int64_t block_q = 1, block_k = 1;
  DenseTerm mask;  // boolean: true is visible; floating: added to the score, -inf and the type's lowest value hide
  bool excludes_self = false;              // key p
  const std::int64_t* excluded = nullptr;  // key excluded[i], [n_q]
  bool any() const { return stride > 0 || layout || mask.data || excludes_self || excluded; }
};

// One array per field of the rows' records (softmax_record.hpp), [batch, heads, n_q]; null arrays are not written.
struct RowArrays {
  void *m = nullptr, *z = nullptr, *u = nullptr, *w = nullptr, *c = nullptr;  // real
  std::int64_t *k = nullptr, *a = nullptr;
};

struct Problem {
  ElementType type = ElementType::bfloat16;
  std::int64_t batch = 0, heads = 0, kv_heads = 0, n_q = 0, n_k = 0, d = 0, d_v = 0;
  const void *query = nullptr, *key = nullptr, *value = nullptr;  // value null: statistics only
  Strides query_stride, key_stride, value_stride;
  VisibleKeys visible;
  KeyTests tests;
  double scale = 1;                // lambda of every row,
  const void* scales = nullptr;    // or one per row, real [batch, heads, n_q]
  double soft_cap = 0;             // 0: none
  const void* sink = nullptr;      // real [heads]: logits that take part in the normaliser
  const void* slopes = nullptr;    // real [heads], of ALiBi
  DenseTerm bias;                  // -inf and the type's lowest value hide a key
  const void* relative = nullptr;  // real table [heads, 2 reach + 1]
  std::int64_t reach = 0;
  double dropout = 0;                   // probability
  const std::uint64_t* seed = nullptr;  // on the device
  MomentSet moments = MomentSet::partition;
  const int* active = nullptr;  // if not null, a pass is a no-op where it points to 0

  std::int64_t rows() const { return batch * heads * n_q; }
};

// Key-group statistics (isentropic/key_groups.hpp): the first keys of a row's document, the most recent ones, and the
// rest. Real [batch, heads, n_q]; null arrays are not written.
struct KeyGroupArrays {
  std::int64_t first = 1, recent = 64;
  const std::int32_t* positions_in_document = nullptr;  // [batch, n_q]; null: documents begin at key 0
  void *first_mass = nullptr, *recent_mass = nullptr, *entropy_without_first = nullptr, *mean_distance = nullptr;
  // For each block of rows, whether the first keys of some row outweigh the others by so much that a forward pass
  // cannot resolve the others; the pass over key groups then processes only such blocks. Null: it processes all of
  // them.
  std::int32_t* drowned = nullptr;
  bool any() const { return first_mass || recent_mass || entropy_without_first || mean_distance; }
};

// Outputs of the forward pass.
struct ForwardOutput {
  RowArrays rows;          // z, u, w, c as selected by `moments`; k and a if the kernel computes them
  void* output = nullptr;  // type of the inputs; normalised, the sink included; null: none
  Strides output_stride;
  bool real_output = false;  // the output has the type of the sums
  KeyGroupArrays groups;     // tensor cores only
};

}  // namespace isentropic::cuda
