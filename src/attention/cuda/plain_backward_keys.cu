// The plain sweep that owns keys: gradients of keys and values, summed over the query heads that share them.
//
// Keys and values are handled by different blocks, each of which computes the scores itself.
#include <algorithm>

#include "attention/cuda/plain_gradients.cuh"

namespace isentropic::cuda::plain {
namespace {

enum class Target { key, value };

// Turns products in shared memory, [query][key], into lambda dx, or into weights for the values.
template <class R>
__device__ void form_factors(const BackwardProblem& backward, const Head& head, GradientShared<R>& shared,
                             std::int64_t keys, unsigned seen, Target target) {
  const Problem& p = backward.problem;
  const std::int64_t j = keys + outer_of_thread();
  const bool has_dp = target == Target::key && backward.output_gradient != nullptr;
#pragma unroll 1
  for (int n = 0; n < kShare; ++n) {
    const int r = inner_of(n), at = r * kPitch + outer_of_thread();
    const ScoreRow<R>& row = shared.rows[r];
    const GradientRow<R>& constants = shared.constants[r];
    R factor = R(0);
    if ((seen >> n & 1u) && !constants.silent) {
      const DropoutFactors<R> dropout(p, head, row.i, j / 4 * 4);
      const bool kept = dropout.kept >> (j % 4) & 1u;
      const R dp = has_dp ? shared.staged[at] : R(0);
      const ScoreGradient<R> gradient =
          score_gradient(p, head, row, constants, j, shared.weights[at], dp, kept, dropout.factor);
      factor = gradient.weight;
      if (target == Target::key) factor = gradient.scaled == R(0) ? R(0) : row.lambda * gradient.scaled;
    }
    shared.weights[at] = factor;
  }
}

// Loads the rows of a tile of queries. Returns whether one of them may see a key of [keys, keys + kTile); synchronises
// the block before and after.
template <class R>
__device__ bool load_tile(const BackwardProblem& backward, const bool* silent, const Head& head, std::int64_t first,
                          std::int64_t keys, GradientShared<R>& shared) {
  bool meets = false;
  __syncthreads();
  if (threadIdx.x < kTile) {
    const ScoreRow<R> row = score_row<R>(backward.problem, head, first + threadIdx.x);
    shared.rows[threadIdx.x] = row;
    shared.constants[threadIdx.x] = gradient_row<R>(backward, silent, head, first + threadIdx.x);
    const auto in = [&](std::int32_t begin, std::int32_t end) {
      return begin < end && begin < keys + kTile && keys < end;
    };
    meets = in(row.spans.prefix_begin, row.spans.prefix_end) || in(row.spans.begin, row.spans.end);
  }
  return __syncthreads_or(meets);
}

template <class R, int kSlices>
__global__ void __launch_bounds__(kThreads, kBlocksOfSm<R, kSlices>)
    key_kernel(const __grid_constant__ BackwardProblem backward, const bool* silent, const std::int64_t tiles,
               const std::int64_t chunks, const Target target) {
  GradientShared<R>& shared = *reinterpret_cast<GradientShared<R>*>(block_memory());
  const Problem& p = backward.problem;
  const std::int64_t chunk = blockIdx.x % chunks, tile = blockIdx.x / chunks % tiles, of = blockIdx.x / chunks / tiles;
  const std::int64_t b = of / p.kv_heads, kv_head = of % p.kv_heads, group = p.heads / p.kv_heads;
  const std::int64_t keys = tile * kTile, column = chunk * kSlices * kTile;
  const bool any = target == Target::key || backward.output_gradient;

  R sum[kSlices][kEdge][kEdge] = {};
  for (std::int64_t h = kv_head * group; any && h < (kv_head + 1) * group; ++h) {
    const Head head = {b, h};
    for (std::int64_t first = 0; first < p.n_q; first += kTile) {
      if (!load_tile(backward, silent, head, first, keys, shared)) continue;
      const unsigned seen = seeing_key(p, head, shared.rows, keys);
      if (!__syncthreads_or(seen != 0)) continue;
      R products[kEdge][kEdge];
      multiply_rows(keys_of(p, head), keys, queries_of(p, head), first, shared.staged, products);
      keep_products(products, shared.weights);
      if (target == Target::key && backward.output_gradient) {
        multiply_rows(values_of(p, head), keys, output_gradient_of(backward, head), first, shared.staged, products);
        __syncthreads();
        keep_products(products, shared.staged);
      }
      __syncthreads();
      form_factors(backward, head, shared, keys, seen, target);
      const Matrix right = target == Target::key ? queries_of(p, head) : output_gradient_of(backward, head);
      add_weighted(shared.weights, right, first, column, shared.staged, sum);
    }
  }
  const Gradients& to = backward.gradients;
  const Matrix result = target == Target::key ? matrix_of(to.key, p.type, to.key_stride, b, kv_head, p.n_k, p.d)
                                              : matrix_of(to.value, p.type, to.value_stride, b, kv_head, p.n_k, p.d_v);
#pragma unroll
  for (int s = 0; s < kSlices; ++s) store_tile(result, keys, column + s * kTile, sum[s]);
}

template <class R, int kSlices>
cudaError_t launch_keys(const BackwardProblem& problem, const BackwardWorkspace& workspace, Target target,
                        cudaStream_t stream) {
  const Problem& p = problem.problem;
  const std::int64_t tiles = tiles_of(p.n_k), width = kSlices * kTile, columns = target == Target::key ? p.d : p.d_v;
  const std::int64_t chunks = (columns + width - 1) / width;
  const bool* silent = workspace.silent;
  return launch(key_kernel<R, kSlices>, p.batch * p.kv_heads * tiles * chunks, sizeof(GradientShared<R>), stream,
                problem, silent, tiles, chunks, target);
}

template <class R>
cudaError_t sweep_for(const BackwardProblem& problem, const BackwardWorkspace& workspace, Target target,
                      cudaStream_t stream) {
  if constexpr (sizeof(R) == 4)
    if ((target == Target::key ? problem.problem.d : problem.problem.d_v) > 2 * kTile)
      return launch_keys<R, 4>(problem, workspace, target, stream);
  return launch_keys<R, 2>(problem, workspace, target, stream);
}

}  // namespace

template <class R>
cudaError_t sweep_keys(const BackwardProblem& problem, const BackwardWorkspace& workspace, cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  if (problem.gradients.key) error = sweep_for<R>(problem, workspace, Target::key, stream);
  if (error == cudaSuccess && problem.gradients.value) error = sweep_for<R>(problem, workspace, Target::value, stream);
  return error;
}

template cudaError_t sweep_keys<float>(const BackwardProblem&, const BackwardWorkspace&, cudaStream_t);
template cudaError_t sweep_keys<double>(const BackwardProblem&, const BackwardWorkspace&, cudaStream_t);

}  // namespace isentropic::cuda::plain
