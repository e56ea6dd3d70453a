// Gradient constants: D = sum_c gO_c O_c by a few lanes per row, then the rest by one thread per row of the block.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>

#include "attention/cuda/head_sums.cuh"
#include "attention/cuda/row_constants.cuh"
#include "attention/cuda/statistics_record.cuh"
#include "attention/cuda/thread_block.cuh"

namespace isentropic::cuda {
namespace {

constexpr int kLanes = 8;  // read 128 bytes of a row at a time
constexpr int kThreads = 256, kRowsOfBlock = kThreads, kRowsAtOnce = kThreads / kLanes;

template <class R, class E>
__device__ R contained_product(E g, E x) {
  const R factor = static_cast<R>(g);
  return factor == R(0) ? R(0) : factor * static_cast<R>(x);
}

// The lane's part of g.x. `wide`: both rows begin at multiples of 16 bytes and their length is one.
template <class R, class E, bool wide>
__device__ R part_of_product(const E* g, const E* x, std::int64_t n, int lane) {
  R sum = 0;
  if constexpr (wide) {
    constexpr int kElements = sizeof(uint4) / sizeof(E);
    const auto* wide_g = reinterpret_cast<const uint4*>(g);
    const auto* wide_x = reinterpret_cast<const uint4*>(x);
#pragma unroll 2
    for (std::int64_t c = lane; c < n / kElements; c += kLanes) {
      const uint4 of_g = wide_g[c], of_x = wide_x[c];
      E elements_g[kElements], elements_x[kElements];
      memcpy(elements_g, &of_g, sizeof(of_g));
      memcpy(elements_x, &of_x, sizeof(of_x));
#pragma unroll
      for (int e = 0; e < kElements; ++e) sum += contained_product<R>(elements_g[e], elements_x[e]);
    }
  } else {
    for (std::int64_t c = lane; c < n; c += kLanes) sum += contained_product<R>(g[c], x[c]);
  }
  return sum;
}

template <class R, class E, bool wide>
__device__ R output_product(const Problem& p, const RowUpstream& upstream, const RowIndex& at, int lane) {
  const auto row_of = [&](const void* data, const Strides& stride) {
    return static_cast<const E*>(data) + at.b * stride.batch + at.h * stride.head + at.i * stride.row;
  };
  R sum = part_of_product<R, E, wide>(row_of(upstream.output_gradient, upstream.output_gradient_stride),
                                      row_of(upstream.output, upstream.output_stride), p.d_v, lane);
  for (int distance = kLanes / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  return sum;
}

template <class R>
__device__ void write_row(const RowConstantArrays& arrays, void* sink, std::int64_t row,
                          const RowGradientConstants& c) {
  const auto set = [&](void* array, double value) {
    if (array) static_cast<R*>(array)[row] = static_cast<R>(value);
  };
  set(arrays.max_score, c.max_score);
  set(arrays.log_partition, c.log_partition);
  set(arrays.mean_score, c.mean_score);
  set(arrays.gate, c.gate);
  set(arrays.base, c.base);
  set(arrays.a1, c.a1);
  set(arrays.a2, c.a2);
  set(arrays.a3, c.a3);
  set(sink, c.sink);
}

template <class R, class E, bool wide>
__global__ void __launch_bounds__(kThreads)
    row_constants_kernel(const Problem p, const RowArrays rows, const RowUpstream upstream,
                         const RowConstantArrays constants, void* sink) {
  __shared__ R products[kRowsOfBlock];
  const std::int64_t count = p.batch * p.heads * p.n_q, first = std::int64_t{blockIdx.x} * kRowsOfBlock;
  if (upstream.output_gradient) {
    const int lane = static_cast<int>(threadIdx.x) % kLanes;
#pragma unroll 4
    for (int local = static_cast<int>(threadIdx.x) / kLanes; local < kRowsOfBlock; local += kRowsAtOnce) {
      // Lanes beyond the last row repeat it, because the whole warp must take part in the reductions.
      const RowIndex at = row_index(p, min(first + local, count - 1));
      const R product = output_product<R, E, wide>(p, upstream, at, lane);
      if (lane == 0) products[local] = product;
    }
    __syncthreads();
  }
  const std::int64_t row = first + threadIdx.x;
  if (row >= count) return;
  const RowIndex at = row_index(p, row);
  const auto gradient_of = [&](Statistic statistic) {
    return number_at<R>(upstream.statistics[static_cast<int>(statistic)], row);
  };
  const double product = upstream.output_gradient ? static_cast<double>(products[threadIdx.x]) : 0.0;
  const RowSink row_sink = {p.sink != nullptr, number_at<R>(p.sink, at.h)};
  write_row<R>(constants, sink, row, gradient_constants(record_at<R>(p, rows, at), row_sink, product, gradient_of));
}

template <class R>
__global__ void __launch_bounds__(kThreadsOfHeadSum) sum_by_head_kernel(const Problem p, const R* rows, R* sums) {
  const std::int64_t h = blockIdx.x;
  const double sum = sum_over_rows(
      p, [&](std::int64_t b, std::int64_t i) { return static_cast<double>(rows[(b * p.heads + h) * p.n_q + i]); });
  if (threadIdx.x == 0) sums[h] = static_cast<R>(sum);
}

template <class E>
bool rows_are_wide(const void* data, const Strides& stride) {
  constexpr std::int64_t kElements = sizeof(uint4) / sizeof(E);
  return reinterpret_cast<std::uintptr_t>(data) % sizeof(uint4) == 0 && stride.batch % kElements == 0 &&
         stride.head % kElements == 0 && stride.row % kElements == 0;
}

template <class R, class E>
cudaError_t launch(const Problem& problem, const RowArrays& rows, const RowUpstream& upstream,
                   const RowConstantArrays& constants, void* sink, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((problem.rows() + kRowsOfBlock - 1) / kRowsOfBlock);
  const bool wide = problem.d_v % static_cast<std::int64_t>(sizeof(uint4) / sizeof(E)) == 0 &&
                    rows_are_wide<E>(upstream.output, upstream.output_stride) &&
                    rows_are_wide<E>(upstream.output_gradient, upstream.output_gradient_stride);
  const auto kernel = wide ? row_constants_kernel<R, E, true> : row_constants_kernel<R, E, false>;
  return launch_kernel(kernel, blocks, kThreads, 0, stream, problem, rows, upstream, constants, sink);
}

template <class R>
cudaError_t launch_sum_by_head(const Problem& sizes, const void* rows, void* sums, cudaStream_t stream) {
  if (sizes.heads == 0) return cudaSuccess;
  if (sizes.rows() == 0) return cudaMemsetAsync(sums, 0, static_cast<std::size_t>(sizes.heads) * sizeof(R), stream);
  return launch_kernel(sum_by_head_kernel<R>, static_cast<unsigned>(sizes.heads), kThreadsOfHeadSum, 0, stream, sizes,
                       static_cast<const R*>(rows), static_cast<R*>(sums));
}

}  // namespace

cudaError_t row_constants(const Problem& problem, const RowArrays& rows, const RowUpstream& upstream,
                          const RowConstantArrays& constants, void* sink, cudaStream_t stream) {
  switch (problem.type) {
    case ElementType::bfloat16:
      return launch<float, __nv_bfloat16>(problem, rows, upstream, constants, sink, stream);
    case ElementType::float16:
      return launch<float, __half>(problem, rows, upstream, constants, sink, stream);
    case ElementType::float32:
      return launch<float, float>(problem, rows, upstream, constants, sink, stream);
    case ElementType::float64:
      return launch<double, double>(problem, rows, upstream, constants, sink, stream);
    case ElementType::boolean:
      break;
  }
  return cudaErrorInvalidValue;
}

cudaError_t sum_by_head(const Problem& sizes, const void* rows, void* sums, cudaStream_t stream) {
  return sizes.type == ElementType::float64 ? launch_sum_by_head<double>(sizes, rows, sums, stream)
                                            : launch_sum_by_head<float>(sizes, rows, sums, stream);
}

}  // namespace isentropic::cuda
