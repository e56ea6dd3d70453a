// What is done for each row, once: spans of a mask, scales of a law, statistics of records, constants of the gradient.
#pragma once

#include "attention/cuda/backward.hpp"
#include "attention/cuda/problem.hpp"
#include "isentropic/statistics.hpp"

namespace isentropic::cuda {

// ---- Spans ----

// The parts of a mask that are spans (isentropic/mask.hpp); lists lie on the device.
struct SpanMask {
  bool causal = false, aligned_to_end = false;
  std::int64_t left = VisibleKeys::kAll, right = VisibleKeys::kAll, prefix = 0;
  const std::int64_t* key_lengths = nullptr;                            // [batch]
  const std::int64_t *query_offsets = nullptr, *key_offsets = nullptr;  // [documents + 1] or [batch, documents + 1]
  std::int64_t documents = 0;
  bool documents_by_batch = false;
  std::int64_t segment = 0;
  std::int64_t query_offset = 0, key_offset = 0, total_queries = 0, total_keys = 0;  // of a shard
};

// Of every row, [batch, n_q] each: spans, position on the whole key axis, and the same from its document's first key.
cudaError_t find_spans(const Problem& sizes, const SpanMask& mask, RowSpans* spans, std::int32_t* positions,
                       std::int32_t* positions_in_document, cudaStream_t stream);

// ---- Scales ----

// A law of isentropic/scale.hpp that is a formula. Parameters lie on the device, real, one or one for each head; null:
// the number.
struct LawParameter {
  const void* values = nullptr;
  bool by_head = false;
  double number = 0;
};
struct ScaleFormula {
  int law = 0;  // its place in Scale::laws()
  LawParameter parameters[2];
  int learnable = 0;
  const std::int64_t* visible = nullptr;                // n of each row, [batch, heads, n_q]; null: from the spans
  const std::int32_t* positions_in_document = nullptr;  // [batch, n_q]; null: i + offset
};

cudaError_t row_scales(const Problem& problem, const ScaleFormula& law, void* lambda, cudaStream_t stream);

// Sums over the rows of a head of dlambda_i d lambda_i / d parameter: real [learnable, heads], in a fixed order.
cudaError_t scale_parameter_gradients(const Problem& problem, const ScaleFormula& law, const void* lambda_gradient,
                                      void* gradients, cudaStream_t stream);

// ---- Statistics ----

// By Statistic, [batch, heads, n_q]; null: not asked for.
struct StatisticsOutput {
  static constexpr int kMost = 32;
  void* real[kMost] = {};
  std::int64_t *visible = nullptr, *argmax = nullptr;
};

cudaError_t statistics(const Problem& problem, const RowArrays& rows, const StatisticsOutput& output,
                       cudaStream_t stream);

// ---- Constants of the gradient ----

// Upstream gradients: of the output, and of statistics by Statistic (real, [batch, heads, n_q]; null: 0).
struct RowUpstream {
  const void* output = nullptr;  // of the forward pass, type of the inputs; with its gradient
  Strides output_stride;
  const void* output_gradient = nullptr;
  Strides output_gradient_stride;
  const void* statistics[StatisticsOutput::kMost] = {};
};

// The arrays that are null in `constants` are not written. sink: real [batch, heads, n_q], each row's share of the
// sink's gradient; null: not wanted.
cudaError_t row_constants(const Problem& problem, const RowArrays& rows, const RowUpstream& upstream,
                          const RowConstantArrays& constants, void* sink, cudaStream_t stream);

// Sums over batch entries and rows of a head, in a fixed order: real [batch, heads, n_q] to [heads].
cudaError_t sum_by_head(const Problem& sizes, const void* rows, void* sums, cudaStream_t stream);

}  // namespace isentropic::cuda
