// Per-row work outside the attention kernels: spans of a mask, scales from a law or a target entropy, statistics of
// records, gradient constants.
#pragma once

#include <cstddef>

#include "attention/cuda/backward.hpp"
#include "attention/cuda/problem.hpp"
#include "isentropic/statistics.hpp"

namespace isentropic::cuda {

// ---- Spans ----

// Integers on the device, 32 or 64 bits each.
struct IntegerList {
  const void* data = nullptr;
  bool is_short = false;
  IntegerList() = default;
  IntegerList(std::nullptr_t) {}                                         // NOLINT
  IntegerList(const std::int64_t* list) : data(list) {}                  // NOLINT: a pointer says all there is
  IntegerList(const std::int32_t* list) : data(list), is_short(true) {}  // NOLINT
};

// The parts of a mask that are spans (isentropic/mask.hpp); lists are on the device.
struct SpanMask {
  bool causal = false, aligned_to_end = false;
  std::int64_t left = VisibleKeys::kAll, right = VisibleKeys::kAll, prefix = 0;
  IntegerList key_lengths;                 // [batch]
  IntegerList query_offsets, key_offsets;  // [documents + 1] or [batch, documents + 1]
  std::int64_t documents = 0;
  bool documents_by_batch = false;
  std::int64_t segment = 0;
  // For a shard; totals of 0: not sharded. The positions of its queries: [n_q], ascending, or consecutive from
  // query_offset.
  IntegerList queries;
  std::int64_t query_offset = 0, key_offset = 0, total_queries = 0, total_keys = 0;
};

// For every row, [batch, n_q] each, null if not wanted: spans in local keys, position relative to the first local key,
// and position relative to its document's first key. An empty prefix is [0, 0); an empty band lies between those of the
// rows before and after it. Prefixes vary among the rows only with documents or segments.
cudaError_t find_spans(const Problem& sizes, const SpanMask& mask, RowSpans* spans, std::int32_t* positions,
                       std::int32_t* positions_in_document, cudaStream_t stream);

// ---- Scales ----

// A law of isentropic/scale.hpp that is a formula. Parameters are on the device, real, one in all or one per head;
// null: the number.
struct LawParameter {
  const void* values = nullptr;
  bool by_head = false;
  double number = 0;
};
struct ScaleFormula {
  int law = 0;  // its index in Scale::laws(), a LawNumber (attention/problem/scale_formulas.hpp)
  LawParameter parameters[2];
  int learnable = 0;
  const std::int64_t* visible = nullptr;                // n of each row, [batch, heads, n_q]; null: from the spans
  const std::int32_t* positions_in_document = nullptr;  // [batch, n_q]; null: i + offset
};

cudaError_t row_scales(const Problem& problem, const ScaleFormula& law, void* lambda, cudaStream_t stream);

// Sums over the rows of a head of dlambda_i d lambda_i / d parameter: real [learnable, heads], in a fixed order.
cudaError_t scale_parameter_gradients(const Problem& problem, const ScaleFormula& law, const void* lambda_gradient,
                                      void* gradients, cudaStream_t stream);

// ---- Target entropy ----
//
// Every row's scale is solved for (isentropic/entropy_solver.hpp) in passes over all rows, none of which waits for the
// host:
//
//   target_entropy_begin(problem, solve, lambda, stream);
//   problem.scales = lambda, problem.active = target_entropy_active(solve);
//   for (int pass = 0; pass < EntropySolver::kMaxIterations; ++pass) {
//     a forward pass of `problem`: statistics only, MomentSet::all, into `rows`;
//     target_entropy_update(problem, rows, solve, lambda, stream);
//   }
//   target_entropy_end(problem, solve, lambda, status, iterations, stream);
//
// Once no row needs another evaluation, the flag that `active` points to is 0, and passes that honour it are no-ops.

struct TargetEntropy {
  LawParameter target;                    // in nats
  const std::int64_t* visible = nullptr;  // n of each row, [batch, heads, n_q]; null: from the spans
  void* workspace = nullptr;              // target_entropy_workspace(problem) bytes, aligned to 256
};

std::size_t target_entropy_workspace(const Problem& problem);

// Number of rows still being solved for, on the device.
const int* target_entropy_active(const TargetEntropy& solve);

// lambda: real [batch, heads, n_q], the scales to evaluate next.
cudaError_t target_entropy_begin(const Problem& problem, const TargetEntropy& solve, void* lambda, cudaStream_t stream);
cudaError_t target_entropy_update(const Problem& problem, const RowArrays& rows, const TargetEntropy& solve,
                                  void* lambda, cudaStream_t stream);

// The scales found, status (a TargetEntropyStatus) and passes spent, [batch, heads, n_q] each; null: not wanted.
cudaError_t target_entropy_end(const Problem& problem, const TargetEntropy& solve, void* lambda, std::int64_t* status,
                               std::int64_t* iterations, cudaStream_t stream);

// Under implicit gradients the scales move with the scores so that H is constant: a1 of every solved row is changed by
// -lambda dlambda / V, with dlambda from a first backward pass.
cudaError_t add_implicit_term(const Problem& problem, const RowArrays& rows, const void* lambda,
                              const void* lambda_gradient, const std::int64_t* status, void* a1, cudaStream_t stream);

// ---- Statistics ----

// Indexed by Statistic, [batch, heads, n_q]; null: not requested.
struct StatisticsOutput {
  static constexpr int kMost = 32;
  void* real[kMost] = {};
  std::int64_t *visible = nullptr, *argmax = nullptr;
  // Also needed by a backward pass: k, a and n (-1 unless counted), lambda if it is the same for all rows, and the
  // status 0 if nothing was solved.
  std::int64_t *k = nullptr, *a = nullptr, *n = nullptr, *status = nullptr;
  bool counts_n = false;
  void* lambda = nullptr;
};

cudaError_t statistics(const Problem& problem, const RowArrays& rows, const StatisticsOutput& output,
                       cudaStream_t stream);

// ---- Constants of the gradient ----

// Upstream gradients of the output and of the statistics, indexed by Statistic (real, [batch, heads, n_q]; null: 0).
struct RowUpstream {
  const void* output = nullptr;  // of the forward pass, type of the inputs; needed with its gradient
  Strides output_stride;
  const void* output_gradient = nullptr;
  Strides output_gradient_stride;
  const void* statistics[StatisticsOutput::kMost] = {};
};

// Null arrays in `constants` are not written. sink: real [batch, heads, n_q], each row's contribution to the sink's
// gradient; null: not wanted.
cudaError_t row_constants(const Problem& problem, const RowArrays& rows, const RowUpstream& upstream,
                          const RowConstantArrays& constants, void* sink, cudaStream_t stream);

// Sums over batch entries and rows of a head, in a fixed order: real [batch, heads, n_q] to [heads].
cudaError_t sum_by_head(const Problem& sizes, const void* rows, void* sums, cudaStream_t stream);

}  // namespace isentropic::cuda
