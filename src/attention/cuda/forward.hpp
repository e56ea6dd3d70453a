// Softmax attention on an NVIDIA GPU, forward: output and the record of every row, in one pass.
//
// Framework-free: pointers, strides, sizes and a stream in, the error of the launch out. Nothing is allocated and no
// call waits for the device; what lies there (lists, scales, sinks, slopes) is read there.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <limits>

#include "isentropic/softmax_record.hpp"
#include "isentropic/statistics.hpp"

namespace isentropic::cuda {

// In elements, of batch, head and row; the last axis is contiguous.
struct Strides {
  std::int64_t batch = 0, head = 0, row = 0;
};

// Row i sees the keys [begin, end) and, before these, [0, prefix). Without lists of its own it sees the band of
// positions [p - left + 1, p + right], p = i + offset.
struct VisibleKeys {
  static constexpr std::int64_t kAll = std::numeric_limits<std::int32_t>::max();
  const std::int32_t* begin = nullptr;   // [batch, n_q], neither falls with i; null: the band's
  const std::int32_t* end = nullptr;     // likewise
  const std::int32_t* prefix = nullptr;  // [batch]; null: none
  std::int64_t offset = 0;
  std::int64_t left = kAll, right = kAll;
};

enum class ElementType : std::uint8_t { bfloat16, float16 };

struct ForwardProblem {
  ElementType type = ElementType::bfloat16;
  std::int64_t batch = 0, heads = 0, kv_heads = 0, n_q = 0, n_k = 0, d = 0;
  // Rows begin at multiples of 16 bytes.
  const void *query = nullptr, *key = nullptr, *value = nullptr;
  void* output = nullptr;
  Strides query_stride, key_stride, value_stride, output_stride;
  VisibleKeys visible;
  float scale = 1;                // lambda of every row,
  const float* scales = nullptr;  // or of each, [batch, heads, n_q]
  const float* sink = nullptr;    // [heads]: logits that take part in the normaliser
  const float* slopes = nullptr;  // [heads], of ALiBi
  float soft_cap = 0;             // 0: none
  MomentSet moments = MomentSet::partition;
  // The records, [batch, heads, n_q] each: those sums that `moments` names are written.
  float *m = nullptr, *z = nullptr, *u = nullptr, *w = nullptr, *c = nullptr;
};

// Whether there is a kernel for the problem: heads of 64 or 128 numbers.
bool has_forward(const ForwardProblem& problem);

cudaError_t forward(const ForwardProblem& problem, cudaStream_t stream);

// ---- Statistics of the records ----

struct StatisticsOutput {
  static constexpr int kMost = 32;
  float* real[kMost] = {};          // by Statistic, [batch, heads, n_q]; null: not asked for
  std::int64_t* visible = nullptr;  // likewise
  // [batch, heads, n_q, 11] or null: m, z, u, w, c, k, -1, lambda, n (-1: not counted), 0, moments.
  double* rows = nullptr;
  bool counts = false;  // n is k
};

cudaError_t statistics(const ForwardProblem& problem, const StatisticsOutput& output, cudaStream_t stream);

}  // namespace isentropic::cuda
