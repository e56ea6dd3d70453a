// Gradients of a chunk's scores from the records of its rows: by rows, for the products, and by columns, for the bias.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "losses/cuda/scores.cuh"

namespace isentropic::cuda {
namespace {

constexpr int kThreads = 256;

// ---- Row constants ----

struct RowGradients {
  double loss = 0, log_partition = 0, entropy = 0;
  __device__ bool any() const { return loss != 0 || log_partition != 0 || entropy != 0; }
};

// A weight of 0 excludes the row, even if it contains NaN.
__device__ RowGradients gradients_of_row(const LossUpstream& upstream, double log_partition, std::int64_t row) {
  RowGradients out;
  if (upstream.loss) out.loss += upstream.loss[row];
  if (upstream.log_partition) out.log_partition += upstream.log_partition[row];
  if (upstream.entropy) out.entropy += upstream.entropy[row];
  const double weight = upstream.weights ? upstream.weights[row] : 0.0f;
  if (weight != 0) {
    out.loss += weight * upstream.loss_factor;
    out.log_partition += weight * upstream.partition_factor;
    if (upstream.square_factor != 0) out.log_partition += 2 * weight * upstream.square_factor * log_partition;
  }
  return out;
}

__global__ void terms_kernel(const LossChunk sizes, const std::int64_t first, const std::int64_t count,
                             const LossRows rows, const LossUpstream upstream, LossTerms* terms, bool* used) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const std::int64_t row = first + i, target = sizes.target[row];
  const bool has_target = target >= 0 && target < sizes.all_keys;
  const double *record = rows.records + 7 * row, m = record[0], z = record[1], mean = z != 0 ? record[2] / z : 0;
  RowGradients g = gradients_of_row(upstream, m + log(z), row);
  if (!has_target) g.loss = 0;
  const double inverse = 1 / static_cast<double>(*upstream.largest);
  g.loss *= inverse, g.log_partition *= inverse, g.entropy *= inverse;
  LossTerms out = {};
  out.m = z != 0 ? static_cast<float>(m) : 0.0f;  // without mass every weight is 0
  out.inverse_z = z != 0 ? static_cast<float>(1 / z) : 0.0f;
  out.mean = static_cast<float>(mean);
  out.base = static_cast<float>(g.loss + g.log_partition);
  out.entropy = static_cast<float>(g.entropy);
  out.target = has_target ? static_cast<std::int32_t>(target) : -1;
  out.used = g.any();
  if (has_target) {
    const bool hidden = (sizes.exclude_self && target == row) || (sizes.bias && sizes.bias[target] == -INFINITY);
    const double loss = rows.loss[row], p = exp(-loss);
    double to_target = hidden ? -g.loss : 0.0;
    if (!hidden && g.loss != 0) to_target += g.loss * expm1(-loss);
    if (!hidden && g.log_partition != 0) to_target += g.log_partition * p;
    // s_t - m, from p_t = e^{s_t - m} / z.
    if (!hidden && g.entropy != 0 && p != 0) to_target -= g.entropy * p * (log(z) - loss - mean);
    out.target_gradient = static_cast<float>(to_target);
  }
  terms[row] = out;
  used[row] = out.used;
}

// ds of a score other than the target's.
__device__ float score_gradient(const LossTerms& row, float s) {
  const float t = s - row.m, p = exponential(t) * row.inverse_z;
  if (p == 0) return 0;
  return row.entropy == 0 ? p * row.base : p * (row.base - row.entropy * (t - row.mean));
}

// ---- By row, for the products ----

template <class T>
struct alignas(kLanes * sizeof(T)) Lanes {
  T values[kLanes];
};

template <class T, bool extras>
__global__ void __launch_bounds__(kMostThreads, 2)
    gradient_kernel(const LossChunk chunk, const LossTerms* terms, const float* largest, const LossGradient gradient) {
  __shared__ float sums[kMostThreads / 32][1];
  const int row = blockIdx.x, keys = static_cast<int>(chunk.keys);
  T* const out = static_cast<T*>(gradient.values) + row * gradient.stride;
  const LossTerms constants = terms[chunk.first_row + row];
  const int target = key_of_chunk(chunk, constants.target), self = self_of_row(chunk, row);
  const ScoreRule<extras> rule(chunk);
  float total[1] = {0};
  for_each_group(chunk.products + row * chunk.stride, keys, [&](int begin, int step, const float4(&loaded)[kVectors]) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int first = begin + v * step;
      if (first >= keys) break;
      const float product[kLanes] = {loaded[v].x, loaded[v].y, loaded[v].z, loaded[v].w};
      Lanes<T> stored;
#pragma unroll
      for (int c = 0; c < kLanes; ++c) {
        const int key = first + c;
        float g = 0;
        if (constants.used && key < keys) {
          const Score score = rule.of(product[c], key);
          if (key == target)
            g = constants.target_gradient * score.slope;
          else if (!rule.hides(key, self))
            g = score_gradient(constants, score.s) * score.slope;
          // A weight of 0 is not multiplied by the product, which may be anything.
          if (g != 0) total[0] += g * product[c];
        }
        stored.values[c] = static_cast<T>(g);
      }
      *reinterpret_cast<Lanes<T>*>(out + first) = stored;
    }
  });
  if (!gradient.scale_gradient) return;
  sum_over_block(total, sums);
  if (threadIdx.x > 0) return;
  float& sum = gradient.scale_gradient[chunk.first_row + row];
  sum = (gradient.add ? sum : 0.0f) + total[0] * *largest;
}

template <class T>
cudaError_t launch_gradient(const LossChunk& chunk, const LossTerms* terms, const float* largest,
                            const LossGradient& gradient, cudaStream_t stream) {
  const auto kernel = has_extras(chunk) ? gradient_kernel<T, true> : gradient_kernel<T, false>;
  return launch_kernel(kernel, static_cast<unsigned>(chunk.rows), threads_of_row(chunk.keys), 0, stream, chunk, terms,
                       largest, gradient);
}

// ---- By column, for the bias ----

constexpr int kColumns = 32, kRowLanes = 16;

// A thread sums every sixteenth row of a column; the sixteen sums are added in order.
__global__ void bias_kernel(const LossChunk chunk, const LossTerms* terms, float* sums) {
  __shared__ float parts[kRowLanes][kColumns];
  const std::int64_t place = std::int64_t{blockIdx.x} * kColumns + threadIdx.x;
  const int key = static_cast<int>(place);
  const ScoreRule<true> rule(chunk);
  float sum = 0;
  if (place < chunk.keys)
    for (int row = threadIdx.y; row < chunk.rows; row += kRowLanes) {
      const LossTerms constants = terms[chunk.first_row + row];
      if (!constants.used) continue;
      if (constants.target == chunk.first_key + key)
        sum += constants.target_gradient;
      else if (!rule.hides(key, self_of_row(chunk, row)))
        sum += score_gradient(constants, rule.of(chunk.products[row * chunk.stride + key], key).s);
    }
  parts[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || place >= chunk.keys) return;
  for (int lane = 1; lane < kRowLanes; ++lane) sum += parts[lane][threadIdx.x];
  sums[chunk.first_key + key] += sum;
}

// ---- Conversion to another type ----

template <class T>
__global__ void round_kernel(const float* x, const float* factor, T* out, const std::int64_t count) {
  const float f = *factor;
  const std::int64_t i = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * kLanes;
  if (i + kLanes <= count) {
    const float4 v = *reinterpret_cast<const float4*>(x + i);
    *reinterpret_cast<Lanes<T>*>(out + i) = {static_cast<T>(f * v.x), static_cast<T>(f * v.y), static_cast<T>(f * v.z),
                                             static_cast<T>(f * v.w)};
    return;
  }
  for (std::int64_t j = i; j < count; ++j) out[j] = static_cast<T>(f * x[j]);
}

unsigned blocks_for(std::int64_t count, std::int64_t of_block) {
  return static_cast<unsigned>((count + of_block - 1) / of_block);
}

// Calls f(T()) with the element type.
template <class F>
cudaError_t with_element(ElementType type, F f) {
  switch (type) {
    case ElementType::bfloat16:
      return f(__nv_bfloat16());
    case ElementType::float16:
      return f(__half());
    case ElementType::float32:
      return f(float());
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace

cudaError_t loss_terms(const LossChunk& sizes, std::int64_t first, std::int64_t count, const LossRows& rows,
                       const LossUpstream& upstream, LossTerms* terms, bool* used, cudaStream_t stream) {
  return launch_kernel(terms_kernel, blocks_for(count, kThreads), kThreads, 0, stream, sizes, first, count, rows,
                       upstream, terms, used);
}

cudaError_t loss_gradient(const LossChunk& chunk, const LossTerms* terms, const float* largest,
                          const LossGradient& gradient, cudaStream_t stream) {
  if (chunk.rows == 0 || chunk.keys == 0) return cudaSuccess;
  if (chunk.keys > kMostKeys) return cudaErrorInvalidValue;
  return with_element(gradient.type,
                      [&](auto t) { return launch_gradient<decltype(t)>(chunk, terms, largest, gradient, stream); });
}

cudaError_t loss_bias_gradient(const LossChunk& chunk, const LossTerms* terms, float* sums, cudaStream_t stream) {
  if (chunk.rows == 0 || chunk.keys == 0) return cudaSuccess;
  if (chunk.keys > kMostKeys) return cudaErrorInvalidValue;
  return launch_kernel(bias_kernel, blocks_for(chunk.keys, kColumns), dim3(kColumns, kRowLanes), 0, stream, chunk,
                       terms, sums);
}

cudaError_t scale_and_round(const float* x, const float* factor, ElementType type, void* out, std::int64_t count,
                            cudaStream_t stream) {
  return with_element(type, [&](auto t) {
    using T = decltype(t);
    return launch_kernel(round_kernel<T>, blocks_for(count, kThreads * kLanes), kThreads, 0, stream, x, factor,
                         static_cast<T*>(out), count);
  });
}

}  // namespace isentropic::cuda
