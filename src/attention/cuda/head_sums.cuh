// Sums over the rows of a head, by one block, in a fixed order.
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

constexpr int kThreadsOfHeadSum = 1024;

// Sums over the threads of the block; only thread 0 gets the total. May be called repeatedly.
__device__ inline double sum_of_block(double value) {
  __shared__ double sums[kThreadsOfHeadSum / 32];
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffffu, value, distance);
  __syncthreads();  // all threads have read the previous sums
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0;
  if (threadIdx.x == 0)
    for (const double part : sums) sum += part;
  return sum;
}

// value(b, i) summed over batch entries and rows by a block of kThreadsOfHeadSum threads; only thread 0 gets the total.
template <class F>
__device__ double sum_over_rows(const Problem& p, F value) {
  // A thread's rows are kThreadsOfHeadSum apart, so that a single division gives the step.
  const std::int64_t batch_step = kThreadsOfHeadSum / p.n_q, row_step = kThreadsOfHeadSum % p.n_q;
  std::int64_t b = threadIdx.x / p.n_q, i = threadIdx.x % p.n_q;
  double sum = 0;
  while (b < p.batch) {
    sum += value(b, i);
    b += batch_step, i += row_step;
    if (i >= p.n_q) i -= p.n_q, ++b;
  }
  return sum_of_block(sum);
}

}  // namespace isentropic::cuda
