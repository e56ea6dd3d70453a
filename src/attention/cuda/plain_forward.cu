// The plain forward pass: a block owns 64 queries and walks along their keys, with an online softmax in registers.
//
// Output columns beyond those one block can hold go to other blocks, which compute the scores again.
#include <algorithm>

#include "attention/cuda/plain.hpp"
#include "attention/cuda/plain_tiles.cuh"

namespace isentropic::cuda {
namespace {

using namespace plain;

template <class R>
struct ForwardShared {
  R staged[kTile * kPitch], weights[kTile * kPitch];
  ScoreRow<R> rows[kTile];
  R factors[kTile];  // by which outputs are to be multiplied
  KeyRange range;
};

// A row's sums over the keys of one thread, relative to a maximum that its threads share.
template <class R>
struct RunningRow {
  static constexpr R kEmpty = -kInfinity<R>;

  R m = kEmpty;
  SoftmaxMoments<R> sums = {R(0), R(0), R(0), R(0)};
  int k = 0;
  unsigned a = ~0u;

  // Rebases everything so far to the larger maximum. Returns the factor for the output so far.
  __device__ R raise(R highest) {
    if (!(highest > m)) return R(1);
    const R delta = m - highest, r = m == kEmpty ? R(1) : exp(delta);  // without keys there is nothing to rescale
    if (m != kEmpty) {
      const SoftmaxMoments<R> seen = rebase(sums, delta, r);
      sums = r == R(0) ? SoftmaxMoments<R>{r * sums.z, R(0), R(0), R(0)} : seen;  // delta may be huge; z keeps a NaN
    }
    m = highest, a = ~0u;
    return r;
  }

  // The weight of a visible key.
  __device__ R add(R score, std::int64_t j) {
    ++k;
    if (score == kEmpty) return R(0);
    if (score == m) a = min(a, static_cast<unsigned>(j));
    const R t = score - m, weight = exp(t);
    sums.z += weight, sums.u += t * weight, sums.w += t * t * weight, sums.c += weight * weight;
    return weight;
  }

  // Reduces over all threads of the row.
  __device__ void finish() {
    sums = {sum_of_sharers(sums.z), sum_of_sharers(sums.u), sum_of_sharers(sums.w), sum_of_sharers(sums.c)};
    k = sum_of_sharers(k);
    for (int lanes = kSharers / 2; lanes > 0; lanes /= 2) a = min(a, __shfl_xor_sync(0xffffffffu, a, lanes));
    if (sums.z != sums.z) m = sums.z;  // a NaN score makes the row NaN
  }
};

template <class R>
__device__ void write_record(const RowArrays& out, std::int64_t place, const RunningRow<R>& row) {
  const auto set = [&](void* array, R value) {
    if (array) static_cast<R*>(array)[place] = value;
  };
  set(out.m, row.m), set(out.z, row.sums.z), set(out.u, row.sums.u), set(out.w, row.sums.w), set(out.c, row.sums.c);
  if (out.k) out.k[place] = row.k;
  if (out.a) out.a[place] = row.a == ~0u ? -1 : static_cast<std::int64_t>(row.a);
}

// Turns the products of a tile into the weights that multiply the values.
template <class R>
__device__ void fold_tile(const Problem& p, const Head& head, ForwardShared<R>& shared, std::int64_t keys,
                          unsigned seen, RunningRow<R>& row) {
  const ScoreRow<R>& scored = shared.rows[outer_of_thread()];
  R* tile = shared.weights + outer_of_thread();
  R highest = -kInfinity<R>;
#pragma unroll 4
  for (int n = 0; n < kShare; ++n) {
    if (!(seen >> n & 1u)) continue;
    R& x = tile[inner_of(n) * kPitch];
    x = finish_score(p, head, scored, keys + inner_of(n), x).score;
    highest = x > highest ? x : highest;
  }
  const R shrink = row.raise(largest_of_sharers(highest));
  if (is_first_sharer()) shared.factors[outer_of_thread()] = shrink;
#pragma unroll 1
  for (int n = 0; n < kShare; n += 4) {
    const DropoutFactors<R> dropout(p, head, scored.i, keys + inner_of(n));
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      R& x = tile[(inner_of(n) + c) * kPitch];
      x = dropout.apply(c, seen >> (n + c) & 1u ? row.add(x, keys + inner_of(n) + c) : R(0));
    }
  }
}

// A factor of 0 gives 0, whatever the output was.
template <class R, int kSlices>
__device__ void multiply_output(const R* factors, R (&output)[kSlices][kEdge][kEdge]) {
#pragma unroll
  for (int r = 0; r < kEdge; ++r) {
    const R factor = factors[first_row() + r];
#pragma unroll
    for (int s = 0; s < kSlices; ++s)
#pragma unroll
      for (int c = 0; c < kEdge; ++c) output[s][r][c] = factor == R(0) ? R(0) : factor * output[s][r][c];
  }
}

template <class R, int kSlices>
__global__ void __launch_bounds__(kThreads, kBlocksOfSm<R, kSlices>)
    forward_kernel(const __grid_constant__ Problem p, const __grid_constant__ ForwardOutput out,
                   const std::int64_t tiles, const std::int64_t chunks) {
  ForwardShared<R>& shared = *reinterpret_cast<ForwardShared<R>*>(block_memory());
  const std::int64_t chunk = blockIdx.x % chunks, tile = blockIdx.x / chunks % tiles, of = blockIdx.x / chunks / tiles;
  const Head head = {of / p.heads, of % p.heads};
  const std::int64_t first = (tiles - 1 - tile) * kTile;  // under causal masks, long rows start first
  const std::int64_t column = chunk * kSlices * kTile;
  const Matrix queries = queries_of(p, head), keys = keys_of(p, head);
  Matrix values = values_of(p, head);
  if (!out.output) values.columns = 0;

  RunningRow<R> row;
  R output[kSlices][kEdge][kEdge] = {};
  load_rows(p, head, first, shared.rows, shared.range);
  for (std::int64_t j = next_tile(shared.range, 0); j < p.n_k; j = next_tile(shared.range, j + kTile)) {
    const unsigned seen = seen_by_row(p, head, shared.rows, j);
    if (!__syncthreads_or(seen != 0)) continue;
    {
      R products[kEdge][kEdge];
      multiply_rows(queries, first, keys, j, shared.staged, products);
      keep_products(products, shared.weights);
    }
    __syncthreads();
    fold_tile(p, head, shared, j, seen, row);
    __syncthreads();
    multiply_output(shared.factors, output);
    add_weighted(shared.weights, values, j, column, shared.staged, output);
  }

  row.finish();
  const std::int64_t i = first + outer_of_thread();
  __syncthreads();
  if (is_first_sharer()) {
    shared.factors[outer_of_thread()] = weight_factor(p, head, row.m, row.sums.z);
    if (chunk == 0 && i < p.n_q) write_record(out.rows, of * p.n_q + i, row);
  }
  if (!out.output) return;
  __syncthreads();
  multiply_output(shared.factors, output);
  const ElementType real = p.type == ElementType::float64 ? ElementType::float64 : ElementType::float32;
  const Matrix result =
      matrix_of(out.output, out.real_output ? real : p.type, out.output_stride, head.b, head.h, p.n_q, p.d_v);
#pragma unroll
  for (int s = 0; s < kSlices; ++s) store_tile(result, first, column + s * kTile, output[s]);
}

template <class R, int kSlices>
cudaError_t launch_forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  const std::int64_t tiles = tiles_of(problem.n_q), width = kSlices * kTile;
  const std::int64_t chunks =
      output.output ? std::max<std::int64_t>(1, (problem.d_v + width - 1) / width) : std::int64_t{1};
  return launch(forward_kernel<R, kSlices>, problem.batch * problem.heads * tiles * chunks, sizeof(ForwardShared<R>),
                stream, problem, output, tiles, chunks);
}

}  // namespace

cudaError_t plain_forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  ForwardOutput wanted = output;
  if (!problem.value) wanted.output = nullptr;
  if (problem.type == ElementType::float64) return launch_forward<double, 2>(problem, wanted, stream);
  if (problem.d_v <= 2 * kTile) return launch_forward<float, 2>(problem, wanted, stream);
  return launch_forward<float, 4>(problem, wanted, stream);
}

}  // namespace isentropic::cuda
