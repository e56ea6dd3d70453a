// Merges partial rows: records by their merge operation, outputs by their factors in the merged record.
//
// Each warp of a row merges the row's records: first each lane a run of consecutive ones, then neighbouring lanes. The
// outputs of the parts are added in order, by one warp or, if there are many parts, in consecutive slices by several.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "attention/cuda/merge.cuh"
#include "attention/cuda/split.hpp"
#include "attention/cuda/thread_block.cuh"

namespace isentropic::cuda {
namespace {

constexpr int kMergeWarps = 16, kFewParts = 16;
constexpr int kColumnsOfLane = 4, kColumns = 32 * kColumnsOfLane;  // per step

template <class R>
__device__ SoftmaxRecord<R> from_later_lane(const SoftmaxRecord<R>& x, int offset) {
  const auto shifted = [&](auto value) { return __shfl_down_sync(0xffffffffu, value, offset); };
  return {shifted(x.m),
          {shifted(x.sums.z), shifted(x.sums.u), shifted(x.sums.w), shifted(x.sums.c)},
          shifted(x.k),
          shifted(x.a)};
}

template <class R>
__device__ SoftmaxRecord<R> of_first_lane(const SoftmaxRecord<R>& x) {
  const auto first = [&](auto value) { return __shfl_sync(0xffffffffu, value, 0); };
  return {first(x.m), {first(x.sums.z), first(x.sums.u), first(x.sums.w), first(x.sums.c)}, first(x.k), first(x.a)};
}

// The result is the same in every lane.
template <class R>
__device__ SoftmaxRecord<R> merge_records(const PartialRows& parts, std::int64_t rows, std::int64_t row) {
  const std::int64_t of_lane = (parts.parts + 31) / 32, first = threadIdx.x % 32 * of_lane;
  SoftmaxRecord<R> merged;
  for (std::int64_t part = first; part < min(first + of_lane, parts.parts); ++part)
    merged = merge(merged, load_record<R>(parts.rows, part * rows + row));
  for (int offset = 1; offset < 32 && offset * of_lane < parts.parts; offset *= 2)
    merged = merge(merged, from_later_lane(merged, offset));
  return of_first_lane(merged);
}

// sums[c] = sum over the parts [first, last) of their weighted output in column lane + 32 c.
template <class R>
__device__ void add_outputs(const PartialRows& parts, std::int64_t rows, std::int64_t row, std::int64_t first,
                            std::int64_t last, R m, std::int64_t column, std::int64_t d_v, R (&sums)[kColumnsOfLane]) {
#pragma unroll 4
  for (std::int64_t part = first; part < last; ++part) {
    const std::int64_t place = part * rows + row;
    const R* from = static_cast<const R*>(parts.output) + place * d_v;
    const R share = share_of(load_record<R>({parts.rows.m, parts.rows.z}, place), m);
#pragma unroll
    for (int c = 0; c < kColumnsOfLane; ++c) {
      const R x = column + 32 * c < d_v ? from[column + 32 * c] : R(0);
      sums[c] += share == R(0) ? R(0) : share * x;
    }
  }
}

template <class R, class E>
struct OutputRow {
  __device__ OutputRow(const Problem& p, const ForwardOutput& out, std::int64_t row, const SoftmaxRecord<R>& keys) {
    const std::int64_t i = row % p.n_q, h = row / p.n_q % p.heads, b = row / p.n_q / p.heads;
    const Strides& stride = out.output_stride;
    to = static_cast<E*>(out.output) + b * stride.batch + h * stride.head + i * stride.row;
    const auto all = p.sink ? merge(keys, sink_logit(static_cast<const R*>(p.sink)[h])) : keys;
    m = all.m;
    inverse = all.empty() ? R(0) : R(1) / all.sums.z;
  }
  __device__ void write(std::int64_t column, R sum) const { to[column] = static_cast<E>(sum * inverse); }

  E* to;
  R m, inverse;
};

// One warp per row.
template <class R, class E>
__global__ void __launch_bounds__(32 * kMergeWarps)
    merge_few_kernel(const __grid_constant__ Problem p, const __grid_constant__ PartialRows parts,
                     const __grid_constant__ ForwardOutput out) {
  const std::int64_t rows = p.batch * p.heads * p.n_q;
  const std::int64_t row = std::int64_t{blockIdx.x} * kMergeWarps + threadIdx.x / 32;
  if (row >= rows) return;
  const auto keys = merge_records<R>(parts, rows, row);
  const int lane = threadIdx.x % 32;
  if (lane == 0) store_record(out.rows, row, keys);
  if (!out.output) return;
  const OutputRow<R, E> output(p, out, row, keys);
  for (std::int64_t first = 0; first < p.d_v; first += kColumns) {
    R sums[kColumnsOfLane] = {};
    add_outputs(parts, rows, row, 0, parts.parts, output.m, first + lane, p.d_v, sums);
#pragma unroll
    for (int c = 0; c < kColumnsOfLane; ++c)
      if (first + lane + 32 * c < p.d_v) output.write(first + lane + 32 * c, sums[c]);
  }
}

// One block per row.
template <class R, class E>
__global__ void __launch_bounds__(32 * kMergeWarps)
    merge_many_kernel(const __grid_constant__ Problem p, const __grid_constant__ PartialRows parts,
                      const __grid_constant__ ForwardOutput out) {
  __shared__ R slices[kMergeWarps][kColumns];
  const std::int64_t rows = p.batch * p.heads * p.n_q, row = blockIdx.x;
  const auto keys = merge_records<R>(parts, rows, row);
  if (threadIdx.x == 0) store_record(out.rows, row, keys);
  if (!out.output) return;
  const OutputRow<R, E> output(p, out, row, keys);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::int64_t begin = parts.parts * warp / kMergeWarps, end = parts.parts * (warp + 1) / kMergeWarps;
  for (std::int64_t first = 0; first < p.d_v; first += kColumns) {
    R sums[kColumnsOfLane] = {};
    add_outputs(parts, rows, row, begin, end, output.m, first + lane, p.d_v, sums);
#pragma unroll
    for (int c = 0; c < kColumnsOfLane; ++c) slices[warp][lane + 32 * c] = sums[c];
    __syncthreads();
    if (threadIdx.x < kColumns && first + threadIdx.x < p.d_v) {
      R sum = 0;
#pragma unroll
      for (int w = 0; w < kMergeWarps; ++w) sum += slices[w][threadIdx.x];
      output.write(first + threadIdx.x, sum);
    }
    __syncthreads();
  }
}

template <class R, class E>
cudaError_t launch_merge(const Problem& problem, const PartialRows& parts, const ForwardOutput& output,
                         cudaStream_t stream) {
  const std::int64_t rows = problem.rows();
  const bool few = parts.parts <= kFewParts;
  const std::int64_t blocks = few ? (rows + kMergeWarps - 1) / kMergeWarps : rows;
  if (blocks > std::numeric_limits<std::int32_t>::max()) return cudaErrorInvalidConfiguration;
  const auto kernel = few ? merge_few_kernel<R, E> : merge_many_kernel<R, E>;
  return launch_kernel(kernel, static_cast<unsigned>(blocks), 32 * kMergeWarps, 0, stream, problem, parts, output);
}

}  // namespace

cudaError_t merge_parts(const Problem& problem, const PartialRows& parts, const ForwardOutput& output,
                        cudaStream_t stream) {
  if (problem.rows() == 0) return cudaSuccess;
  if (!parts.rows.m || !parts.rows.z) return cudaErrorInvalidValue;
  ForwardOutput there = output;
  if (!parts.output) there.output = nullptr;
  if (!parts.rows.k) there.rows.k = nullptr;
  if (!parts.rows.a) there.rows.a = nullptr;
  switch (problem.type) {
    case ElementType::bfloat16:
      return launch_merge<float, __nv_bfloat16>(problem, parts, there, stream);
    case ElementType::float16:
      return launch_merge<float, __half>(problem, parts, there, stream);
    case ElementType::float32:
      return launch_merge<float, float>(problem, parts, there, stream);
    case ElementType::float64:
      return launch_merge<double, double>(problem, parts, there, stream);
    case ElementType::boolean:
      break;
  }
  return cudaErrorInvalidValue;
}

}  // namespace isentropic::cuda
