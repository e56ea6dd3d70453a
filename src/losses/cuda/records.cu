// Records of the rows of a chunk, one block per row: one pass over its scores, then the target.
#include "isentropic/softmax_record.hpp"
#include "losses/cuda/scores.cuh"

namespace isentropic::cuda {
namespace {

// The record of the scores a thread has seen.
struct ThreadRecord {
  float m = -INFINITY, z = 0, u = 0;

  // `top`: the largest of these scores. Scores of -inf have no mass; NaN makes z NaN.
  template <int count>
  __device__ void add(const float (&s)[count], float top) {
    if (top > m) rebase_to(top);
    const float origin = m == -INFINITY ? 0.0f : m;
#pragma unroll
    for (int c = 0; c < count; ++c) {
      const float t = s[c] - origin, e = exponential(t);
      z += e;
      u += fmaxf(t, -1e4f) * e;  // e is 0 where t = -inf
    }
  }
  // Rebases to a maximum that is at least m.
  __device__ void rebase_to(float top) {
    const float delta = m - top, r = exponential(delta);
    if (z != 0 && delta != 0) {
      u = r == 0 && z == z ? 0.0f : r * (u + delta * z);
      z *= r;
    }
    m = top;
  }
};

__device__ float largest_of_block(float x, float* shared) {
  for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, step));
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  for (unsigned w = 0; w < blockDim.x / 32; ++w) x = fmaxf(x, shared[w]);
  return x;
}

// The loss from the log-partition of the other keys (softmax_loss.hpp).
__device__ double loss_of(double others, double score, bool seen) {
  if (!seen) return others - score;
  if (score == INFINITY) return NAN;
  const double x = others - score;
  if (x == -INFINITY) return 0;
  return fmax(x, 0.0) + log1p(exp(-fabs(x))) + (x != x ? x : 0.0);
}

template <bool extras>
__device__ void finish_row(const LossChunk& chunk, const LossRows& rows, int row, int target, int self,
                           const ScoreRule<extras>& rule, SoftmaxRecord<double> record) {
  double loss = 0;
  if (target >= 0) {
    const double score = rule.of(chunk.products[row * chunk.stride + target], target).s;
    const bool seen = !rule.hides(target, self);
    loss = loss_of(log_partition(record), score, seen);
    if (seen) record = merge(record, single_key(score, target));
  }
  const std::int64_t place = chunk.first_row + row;
  rows.loss[place] = static_cast<float>(loss);
  rows.log_partition[place] = static_cast<float>(log_partition(record));
  rows.entropy[place] = static_cast<float>(entropy(record));
  double* const out = rows.records + 7 * place;
  out[0] = record.m, out[1] = record.sums.z, out[2] = record.sums.u, out[3] = out[4] = 0;
  out[5] = static_cast<double>(record.k), out[6] = -1;
}

template <bool extras>
__global__ void __launch_bounds__(kMostThreads, 2) records_kernel(const LossChunk chunk, const LossRows rows) {
  __shared__ float maxima[kMostThreads / 32], sums[kMostThreads / 32][3];
  const int row = blockIdx.x, keys = static_cast<int>(chunk.keys);
  const int target = key_of_chunk(chunk, chunk.target[chunk.first_row + row]), self = self_of_row(chunk, row);
  const ScoreRule<extras> rule(chunk);
  ThreadRecord record;
  int count = 0;  // visible keys, not counting the target
  for_each_group(chunk.products + row * chunk.stride, keys, [&](int begin, int step, const float4(&loaded)[kVectors]) {
    float s[kVectors * kLanes], top = -INFINITY;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const float product[kLanes] = {loaded[v].x, loaded[v].y, loaded[v].z, loaded[v].w};
#pragma unroll
      for (int c = 0; c < kLanes; ++c) {
        const int key = begin + v * step + c;
        const bool seen = key < keys && key != target && !rule.hides(key, self);
        const float score = seen ? rule.of(product[c], key).s : -INFINITY;
        if constexpr (extras) count += seen;
        top = fmaxf(top, score);
        s[v * kLanes + c] = score;
      }
    }
    record.add(s, top);
  });
  const float top = largest_of_block(record.m, maxima);
  record.rebase_to(top);
  float totals[3] = {record.z, record.u, static_cast<float>(count)};
  sum_over_block(totals, sums);
  if (threadIdx.x > 0) return;
  SoftmaxRecord<double> all;
  if (totals[0] != 0) all.m = totals[0] == totals[0] ? top : NAN;
  all.sums = {totals[0], totals[1], 0, 0};
  all.k = extras ? static_cast<std::int64_t>(totals[2]) : keys - (target >= 0);
  finish_row(chunk, rows, row, target, self, rule, all);
}

}  // namespace

cudaError_t loss_records(const LossChunk& chunk, const LossRows& rows, cudaStream_t stream) {
  if (chunk.keys > kMostKeys) return cudaErrorInvalidValue;
  const auto kernel = has_extras(chunk) ? records_kernel<true> : records_kernel<false>;
  return launch_kernel(kernel, static_cast<unsigned>(chunk.rows), threads_of_row(chunk.keys), 0, stream, chunk, rows);
}

}  // namespace isentropic::cuda
