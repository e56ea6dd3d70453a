// The plain sweep that owns queries: gradients of queries, lambda, dense bias, slopes and relative table.
#include <algorithm>

#include "attention/cuda/plain_gradients.cuh"

namespace isentropic::cuda::plain {
namespace {

// A row's sums over the keys of one thread, besides the gradient of its query.
template <class R>
struct TermSums {
  R lambda = R(0), slope = R(0);
  R lowest = R(0), highest = R(0);  // ends of the relative table, which collect all longer lags
};

// Turns products in shared memory into dx, and overwrites dP with dS.
template <class R>
__device__ void form_gradients(const BackwardProblem& backward, const Head& head, GradientShared<R>& shared,
                               std::int64_t keys, unsigned seen, bool terms, TermSums<R>& sums) {
  const Problem& p = backward.problem;
  const ScoreRow<R>& row = shared.rows[outer_of_thread()];
  const GradientRow<R>& constants = shared.constants[outer_of_thread()];
  const std::int64_t place = (head.b * p.heads + head.h) * p.n_q + row.i;
  const bool has_dp = backward.output_gradient != nullptr;
  R* bias = static_cast<R*>(backward.gradients.bias);
#pragma unroll 1
  for (int n = 0; n < kShare; n += 4) {
    const DropoutFactors<R> dropout(p, head, row.i, keys + inner_of(n));
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const std::int64_t j = keys + inner_of(n) + c;
      const int at = (inner_of(n) + c) * kPitch + outer_of_thread();
      const R product = shared.weights[at], dp = has_dp ? shared.staged[at] : R(0);
      ScoreGradient<R> gradient = {R(0), R(0), R(0)};
      if ((seen >> (n + c) & 1u) && !constants.silent)
        gradient = score_gradient(p, head, row, constants, j, product, dp, dropout.kept >> c & 1u, dropout.factor);
      shared.weights[at] = gradient.scaled, shared.staged[at] = gradient.score;
      if (!terms || gradient.score == R(0)) continue;
      const std::int64_t lag = row.position - j;
      if (gradient.scaled != R(0)) sums.lambda += gradient.scaled * product;
      sums.slope -= gradient.score * static_cast<R>(lag < 0 ? -lag : lag);
      if (lag <= -p.reach)
        sums.lowest += gradient.score;
      else if (lag >= p.reach)
        sums.highest += gradient.score;
      if (bias) bias[place * p.n_k + j] = gradient.score;
    }
  }
}

// The inner entries of the relative table: each thread sums its own lags, row by row.
template <class R>
__device__ void add_lags(const Problem& p, const GradientShared<R>& shared, std::int64_t keys, R* table) {
  std::int64_t nearest = kNoTile, farthest = -kNoTile;
  for (int r = 0; r < kTile; ++r) {
    if (shared.rows[r].i >= p.n_q) break;
    nearest = min(nearest, shared.rows[r].position), farthest = max(farthest, shared.rows[r].position);
  }
  nearest = max(nearest - keys - (kTile - 1), 1 - p.reach), farthest = min(farthest - keys, p.reach - 1);
  for (std::int64_t lag = nearest + threadIdx.x; lag <= farthest; lag += kThreads) {
    R sum = R(0);
    for (int r = 0; r < kTile; ++r) {
      const std::int64_t key = shared.rows[r].position - lag - keys;
      if (shared.rows[r].i < p.n_q && key >= 0 && key < kTile) sum += shared.staged[key * kPitch + r];
    }
    table[lag + p.reach] += sum;
  }
}

// Row sums of the sharing threads, added over the rows in order by one thread.
template <class R>
__device__ void add_ends(const Problem& p, const TermSums<R>& sums, GradientShared<R>& shared, R* table) {
  __syncthreads();
  const R lowest = sum_of_sharers(sums.lowest), highest = sum_of_sharers(sums.highest);
  if (is_first_sharer()) shared.staged[outer_of_thread()] = lowest, shared.weights[outer_of_thread()] = highest;
  __syncthreads();
  if (threadIdx.x > 0) return;
  R low = R(0), high = R(0);
  for (int r = 0; r < kTile; ++r) low += shared.staged[r], high += shared.weights[r];
  table[0] = low;
  table[2 * p.reach] = p.reach > 0 ? high : low + high;
}

template <class R, int kSlices>
__global__ void __launch_bounds__(kThreads, kBlocksOfSm<R, kSlices>)
    query_kernel(const __grid_constant__ BackwardProblem backward, const __grid_constant__ BackwardWorkspace workspace,
                 const std::int64_t tiles, const std::int64_t chunks) {
  GradientShared<R>& shared = *reinterpret_cast<GradientShared<R>*>(block_memory());
  const Problem& p = backward.problem;
  const Gradients& gradients = backward.gradients;
  const std::int64_t chunk = blockIdx.x % chunks, tile = blockIdx.x / chunks % tiles, of = blockIdx.x / chunks / tiles;
  const Head head = {of / p.heads, of % p.heads};
  const std::int64_t first = (tiles - 1 - tile) * kTile, column = chunk * kSlices * kTile;
  const bool terms = chunk == 0;
  const std::int64_t entries = 2 * p.reach + 1;
  R* table =
      terms && gradients.relative ? static_cast<R*>(workspace.relative) + (of * tiles + tile) * entries : nullptr;
  if (table)
    for (std::int64_t entry = threadIdx.x; entry < entries; entry += kThreads) table[entry] = R(0);

  TermSums<R> sums;
  R sum[kSlices][kEdge][kEdge] = {};
  if (threadIdx.x < kTile)
    shared.constants[threadIdx.x] = gradient_row<R>(backward, workspace.silent, head, first + threadIdx.x);
  load_rows(p, head, first, shared.rows, shared.range);
  for (std::int64_t j = next_tile(shared.range, 0); j < p.n_k; j = next_tile(shared.range, j + kTile)) {
    const unsigned seen = seen_by_row(p, head, shared.rows, j);
    if (!__syncthreads_or(seen != 0)) continue;
    R products[kEdge][kEdge];
    multiply_rows(queries_of(p, head), first, keys_of(p, head), j, shared.staged, products);
    keep_products(products, shared.weights);
    if (backward.output_gradient) {
      multiply_rows(output_gradient_of(backward, head), first, values_of(p, head), j, shared.staged, products);
      __syncthreads();
      keep_products(products, shared.staged);
    }
    __syncthreads();
    form_gradients(backward, head, shared, j, seen, terms, sums);
    if (table) {
      __syncthreads();
      add_lags(p, shared, j, table);
    }
    if (gradients.query) add_weighted(shared.weights, keys_of(p, head), j, column, shared.staged, sum);
  }

  if (table) add_ends(p, sums, shared, table);
  const R lambda = sum_of_sharers(sums.lambda), slope = sum_of_sharers(sums.slope);
  const std::int64_t i = first + outer_of_thread();
  if (terms && is_first_sharer() && i < p.n_q) {
    if (gradients.lambda) static_cast<R*>(gradients.lambda)[of * p.n_q + i] = lambda;
    if (gradients.slopes) static_cast<R*>(workspace.slopes)[of * p.n_q + i] = slope;
  }
  if (!gradients.query) return;
#pragma unroll
  for (int r = 0; r < kEdge; ++r) {
    const R factor = shared.rows[first_row() + r].lambda;
#pragma unroll
    for (int s = 0; s < kSlices; ++s)
#pragma unroll
      for (int c = 0; c < kEdge; ++c) sum[s][r][c] = sum[s][r][c] == R(0) ? R(0) : factor * sum[s][r][c];
  }
  const Matrix result = matrix_of(gradients.query, p.type, gradients.query_stride, head.b, head.h, p.n_q, p.d);
#pragma unroll
  for (int s = 0; s < kSlices; ++s) store_tile(result, first, column + s * kTile, sum[s]);
}

template <class R, int kSlices>
cudaError_t launch_queries(const BackwardProblem& problem, const BackwardWorkspace& workspace, cudaStream_t stream) {
  const Problem& p = problem.problem;
  const std::int64_t tiles = tiles_of(p.n_q), width = kSlices * kTile;
  const std::int64_t chunks =
      problem.gradients.query ? std::max<std::int64_t>(1, (p.d + width - 1) / width) : std::int64_t{1};
  return launch(query_kernel<R, kSlices>, p.batch * p.heads * tiles * chunks, sizeof(GradientShared<R>), stream,
                problem, workspace, tiles, chunks);
}

}  // namespace

template <>
cudaError_t sweep_queries<double>(const BackwardProblem& problem, const BackwardWorkspace& workspace,
                                  cudaStream_t stream) {
  return launch_queries<double, 2>(problem, workspace, stream);
}

template <>
cudaError_t sweep_queries<float>(const BackwardProblem& problem, const BackwardWorkspace& workspace,
                                 cudaStream_t stream) {
  if (problem.problem.d <= 2 * kTile) return launch_queries<float, 2>(problem, workspace, stream);
  return launch_queries<float, 4>(problem, workspace, stream);
}

}  // namespace isentropic::cuda::plain
