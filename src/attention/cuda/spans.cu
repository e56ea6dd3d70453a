// Spans and positions of all rows, one thread per row.
#include "attention/cuda/spans.cuh"
#include "attention/cuda/thread_block.cuh"

namespace isentropic::cuda {
namespace {

constexpr int kRowsOfBlock = 128;

__device__ std::int32_t as_int32(std::int64_t position) {
  return static_cast<std::int32_t>(within(position, -VisibleKeys::kAll, VisibleKeys::kAll));
}

__global__ void find_spans_kernel(const Problem sizes, const SpanMask mask, RowSpans* spans, std::int32_t* positions,
                                  std::int32_t* positions_in_document) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kRowsOfBlock + threadIdx.x;
  if (row >= sizes.batch * sizes.n_q) return;
  const MaskedRow masked(sizes, mask, row / sizes.n_q, row % sizes.n_q);
  const RowPlace& place = masked.place();
  if (spans) spans[row] = masked.spans();
  if (positions) positions[row] = as_int32(place.position - mask.key_offset);
  if (positions_in_document) positions_in_document[row] = as_int32(place.position - place.first_key);
}

}  // namespace

cudaError_t find_spans(const Problem& sizes, const SpanMask& mask, RowSpans* spans, std::int32_t* positions,
                       std::int32_t* positions_in_document, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((sizes.batch * sizes.n_q + kRowsOfBlock - 1) / kRowsOfBlock);
  return launch_kernel(find_spans_kernel, blocks, kRowsOfBlock, 0, stream, sizes, mask, spans, positions,
                       positions_in_document);
}

}  // namespace isentropic::cuda
