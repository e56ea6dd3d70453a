// Weights of finished rows, their column sums, and the number of keys each row sees.
#include "attention/cuda/plain.hpp"
#include "attention/cuda/plain_tiles.cuh"

namespace isentropic::cuda {
namespace {

using namespace plain;

template <class R>
struct WeightShared {
  R staged[kTile * kPitch], products[kTile * kPitch];
  ScoreRow<R> rows[kTile];
  R m[kTile], factor[kTile];  // weights are factor e^{s - m}
};

// Loads row i as row `at` of the tile.
template <class R>
__device__ void load_row(const Problem& p, const RowArrays& finished, const Head& head, std::int64_t i, int at,
                         WeightShared<R>& shared) {
  shared.rows[at] = score_row<R>(p, head, i);
  shared.m[at] = shared.factor[at] = R(0);
  if (i < 0 || i >= p.n_q) return;
  const std::int64_t place = (head.b * p.heads + head.h) * p.n_q + i;
  shared.m[at] = real_at<R>(finished.m, place);
  shared.factor[at] = weight_factor(p, head, shared.m[at], real_at<R>(finished.z, place));
}

// For a key that row `at` of the tile sees.
template <class R>
__device__ R weight_of(const Problem& p, const Head& head, const WeightShared<R>& shared, int at, std::int64_t j,
                       R product) {
  const R factor = shared.factor[at];
  const R score = finish_score(p, head, shared.rows[at], j, product).score;
  if (factor == R(0) || score == -kInfinity<R>) return R(0);
  return factor * exp(score - shared.m[at]);
}

// A block owns 64 keys of a head and walks along the queries.
template <class R>
__global__ void __launch_bounds__(kThreads, kBlocksOfSm<R, 0>)
    key_mass_kernel(const __grid_constant__ Problem p, const __grid_constant__ RowArrays finished,
                    const std::int64_t tiles, void* key_mass) {
  WeightShared<R>& shared = *reinterpret_cast<WeightShared<R>*>(block_memory());
  const std::int64_t keys = blockIdx.x % tiles * kTile, of = blockIdx.x / tiles, j = keys + outer_of_thread();
  const Head head = {of / p.heads, of % p.heads};
  R mass = R(0);
  for (std::int64_t first = 0; first < p.n_q; first += kTile) {
    __syncthreads();
    if (threadIdx.x < kTile) load_row(p, finished, head, first + threadIdx.x, static_cast<int>(threadIdx.x), shared);
    __syncthreads();
    const unsigned seen = seeing_key(p, head, shared.rows, keys);
    if (!__syncthreads_or(seen != 0)) continue;
    R products[kEdge][kEdge];
    multiply_rows(keys_of(p, head), keys, queries_of(p, head), first, shared.staged, products);
    keep_products(products, shared.products);
    __syncthreads();
    R tile_mass = R(0);
#pragma unroll 1
    for (int n = 0; n < kShare; ++n)
      if (seen >> n & 1u)
        tile_mass +=
            weight_of(p, head, shared, inner_of(n), j, shared.products[inner_of(n) * kPitch + outer_of_thread()]);
    mass += tile_mass;
  }
  mass = sum_of_sharers(mass);
  if (is_first_sharer() && j < p.n_k) static_cast<R*>(key_mass)[of * p.n_k + j] = mass;
}

// One block for every 64 of the wanted rows and 64 keys from first_key on.
template <class R>
__global__ void __launch_bounds__(kThreads, kBlocksOfSm<R, 0>)
    weights_kernel(const __grid_constant__ Problem p, const __grid_constant__ RowArrays finished,
                   const std::int64_t* which, const std::int64_t count, const std::int64_t first_key,
                   const std::int64_t row_tiles, const std::int64_t key_tiles, void* weights) {
  WeightShared<R>& shared = *reinterpret_cast<WeightShared<R>*>(block_memory());
  const std::int64_t keys = first_key + blockIdx.x % key_tiles * kTile;
  const std::int64_t first = blockIdx.x / key_tiles % row_tiles * kTile, of = blockIdx.x / key_tiles / row_tiles;
  const Head head = {of / p.heads, of % p.heads};
  if (threadIdx.x < kTile) {
    const std::int64_t row = first + threadIdx.x;
    load_row(p, finished, head, row < count ? which[row] : -1, static_cast<int>(threadIdx.x), shared);
  }
  __syncthreads();
  const unsigned seen = seen_by_row(p, head, shared.rows, keys);
  if (__syncthreads_or(seen != 0)) {
    Matrix queries = queries_of(p, head);
    queries.head_rows = queries.rows, queries.rows = count, queries.which = which;
    R products[kEdge][kEdge];
    multiply_rows(queries, first, keys_of(p, head), keys, shared.staged, products);
    keep_products(products, shared.products);
    __syncthreads();
  }
  const int at = outer_of_thread();
  if (first + at >= count) return;
  R* out = static_cast<R*>(weights) + (of * count + first + at) * (p.n_k - first_key);
#pragma unroll 1
  for (int n = 0; n < kShare; ++n) {
    const std::int64_t j = keys + inner_of(n);
    if (j >= p.n_k) continue;
    out[j - first_key] =
        seen >> n & 1u ? weight_of(p, head, shared, at, j, shared.products[inner_of(n) * kPitch + at]) : R(0);
  }
}

// One warp per row.
constexpr int kWarp = 32, kWarps = kThreads / kWarp;

__global__ void count_kernel(const __grid_constant__ Problem p, std::int64_t* counts) {
  const std::int64_t place = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  if (place >= p.batch * p.heads * p.n_q) return;
  const Head head = {place / p.n_q / p.heads, place / p.n_q % p.heads};
  const ScoreRow<float> row = score_row<float>(p, head, place % p.n_q);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  std::int64_t count = 0;
  for (std::int64_t j = row.spans.prefix_begin + lane; j < row.spans.prefix_end; j += kWarp)
    count += sees(p, head, row, j);
  for (std::int64_t j = row.spans.begin + lane; j < row.spans.end; j += kWarp)
    count += (j < row.spans.prefix_begin || j >= row.spans.prefix_end) && sees(p, head, row, j);
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) count += __shfl_xor_sync(0xffffffffu, count, lanes);
  if (lane == 0) counts[place] = count;
}

}  // namespace

cudaError_t count_visible(const Problem& problem, std::int64_t* counts, cudaStream_t stream) {
  return launch(count_kernel, (problem.rows() + kWarps - 1) / kWarps, 0, stream, problem, counts);
}

cudaError_t plain_key_mass(const Problem& problem, const RowArrays& rows, void* key_mass, cudaStream_t stream) {
  return with_real(problem.type, [&](auto real) {
    using R = decltype(real);
    const std::int64_t tiles = tiles_of(problem.n_k);
    return launch(key_mass_kernel<R>, problem.batch * problem.heads * tiles, sizeof(WeightShared<R>), stream, problem,
                  rows, tiles, key_mass);
  });
}

cudaError_t plain_weights(const Problem& problem, const RowArrays& rows, const std::int64_t* which, std::int64_t count,
                          std::int64_t first_key, void* weights, cudaStream_t stream) {
  return with_real(problem.type, [&](auto real) {
    using R = decltype(real);
    const std::int64_t row_tiles = tiles_of(count), key_tiles = tiles_of(problem.n_k - first_key);
    return launch(weights_kernel<R>, problem.batch * problem.heads * row_tiles * key_tiles, sizeof(WeightShared<R>),
                  stream, problem, rows, which, count, first_key, row_tiles, key_tiles, weights);
  });
}

}  // namespace isentropic::cuda
