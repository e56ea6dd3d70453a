// After all blocks of keys have added to G: the gradients of query and lambda, dQ = lambda G and dlambda = q.G, and the
// gradient of the slopes from the blocks' partial sums.
#include "attention/cuda/backward_tiles.cuh"
#include "attention/cuda/tensor_cores.hpp"
#include "attention/cuda/thread_block.cuh"

namespace isentropic::cuda {
namespace {

// Transposes 4 x 4 words among four neighbouring lanes, starting at a multiple of four: lane l gets word l of each.
__device__ inline void transpose_among_four(std::uint32_t (&x)[4]) {
#pragma unroll
  for (int distance = 1; distance <= 2; distance *= 2) {
    const bool upper = threadIdx.x & distance;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & distance) continue;
      std::uint32_t &low = x[i], &high = x[i | distance];
      const std::uint32_t came = __shfl_xor_sync(0xffffffffu, upper ? low : high, distance);
      (upper ? low : high) = came;
    }
  }
}

// One block per tile of G, with its threads arranged as when they added to it. Writes 16-byte chunks if the gradient's
// rows begin at multiples of 16 bytes.
template <class E, int kQueries, int kD>
class QueryGradients {
 public:
  using Tiles = QueryTiles<kQueries, kD>;

  __device__ QueryGradients(const BackwardProblem& problem, float* products, bool in_chunks)
      : in(problem),
        p(problem.problem),
        writes_chunks(in_chunks),
        sums(products + std::int64_t{blockIdx.x} * (kQueries * kD)) {
    const std::int64_t tiles = (p.n_q + kQueries - 1) / kQueries, head = blockIdx.x / tiles;
    i0 = (blockIdx.x - head * tiles) * kQueries, h = head % p.heads, b = head / p.heads;
  }

  __device__ void run(float (&shares)[Tiles::kColumnWarps][kQueries]) const {
#pragma unroll
    for (int t = 0; t < 2; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = Tiles::row(t, half);
        if (in.gradients.query) write_query(t, half, i0 + row);
        if (in.gradients.lambda) {
          const float share = row_sum(i0 + row < p.n_q ? product(t, half, i0 + row) : 0.0f);
          if (Tiles::lane() % 4 == 0) shares[Tiles::warp() % Tiles::kColumnWarps][row] = share;
        }
      }
    if (in.gradients.lambda) write_lambda(shares);
  }

 private:
  __device__ std::int64_t place(std::int64_t i) const { return (b * p.heads + h) * p.n_q + i; }

  // Wide heads need not fill their tiles.
  __device__ bool exists(int tile) const { return kD <= 128 || Tiles::column(tile) < p.d; }

  __device__ void write_query(int t, int half, std::int64_t i) const {
    const bool is_row = i < p.n_q;
    const float lambda =
        p.scales && is_row ? static_cast<const float*>(p.scales)[place(i)] : static_cast<float>(p.scale);
    const Strides& stride = in.gradients.query_stride;
    E* row = static_cast<E*>(in.gradients.query) + b * stride.batch + h * stride.head + i * stride.row;
    const auto pair_of = [&](int tile) {
      return pack<E>(lambda * sums.read(t, tile, 2 * half), lambda * sums.read(t, tile, 2 * half + 1));
    };
    if constexpr (kD <= 128 && Tiles::kColumnTiles % 4 == 0)
      if (writes_chunks) {
#pragma unroll
        for (int first = 0; first < Tiles::kColumnTiles; first += 4) {
          std::uint32_t pairs[4] = {pair_of(first), pair_of(first + 1), pair_of(first + 2), pair_of(first + 3)};
          transpose_among_four(pairs);  // so that each lane has the columns of one tile
          const int column = Tiles::first_column() + (first + Tiles::lane() % 4) * 8;
          if (is_row) *reinterpret_cast<uint4*>(row + column) = {pairs[0], pairs[1], pairs[2], pairs[3]};
        }
        return;
      }
#pragma unroll
    for (int tile = 0; tile < Tiles::kColumnTiles; ++tile)
      if (is_row && exists(tile)) *reinterpret_cast<std::uint32_t*>(row + Tiles::column(tile)) = pair_of(tile);
  }

  __device__ float product(int t, int half, std::int64_t i) const {
    const Strides& stride = p.query_stride;
    const E* row = static_cast<const E*>(p.query) + b * stride.batch + h * stride.head + i * stride.row;
    float sum = 0;
#pragma unroll
    for (int tile = 0; tile < Tiles::kColumnTiles; ++tile)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (exists(tile))
          sum = fmaf(static_cast<float>(row[Tiles::column(tile) + e]), sums.read(t, tile, 2 * half + e), sum);
    return sum;
  }

  __device__ void write_lambda(const float (&shares)[Tiles::kColumnWarps][kQueries]) const {
    __syncthreads();
    const int row = static_cast<int>(threadIdx.x);
    if (row >= kQueries || i0 + row >= p.n_q) return;
    float sum = 0;
#pragma unroll
    for (int part = 0; part < Tiles::kColumnWarps; ++part) sum += shares[part][row];
    static_cast<float*>(in.gradients.lambda)[place(i0 + row)] = sum;
  }

  const BackwardProblem& in;
  const Problem& p;
  const bool writes_chunks;
  const ProductTile<kQueries, kD> sums;
  std::int64_t i0, h, b;
};

template <class E, int kQueries, int kD>
__global__ void __launch_bounds__(kBackwardThreads)
    query_gradient_kernel(const __grid_constant__ BackwardProblem problem, float* products, bool in_chunks) {
  using Gradients = QueryGradients<E, kQueries, kD>;
  __shared__ float shares[Gradients::Tiles::kColumnWarps][kQueries];
  Gradients(problem, products, in_chunks).run(shares);
}

template <class E>
cudaError_t query_gradients(const BackwardProblem& problem, float* products, BackwardTile tile, cudaStream_t stream) {
  const Problem& p = problem.problem;
  const int width = backward_width(p.d, p.d_v), queries = backward_tile_size(width, tile).queries;
  const auto blocks = static_cast<unsigned>(p.batch * p.heads * ((p.n_q + queries - 1) / queries));
  const bool in_chunks =
      rows_begin_at(problem.gradients.query, problem.gradients.query_stride, p.batch, p.heads, p.n_q, 16);
  auto kernel = query_gradient_kernel<E, 64, 64>;
  if (width == 256)
    kernel = query_gradient_kernel<E, 64, 256>;
  else if (width == 192)
    kernel = query_gradient_kernel<E, 64, 192>;
  else if (width == 128)
    kernel = query_gradient_kernel<E, 64, 128>;
  else if (queries == 128)
    kernel = query_gradient_kernel<E, 128, 64>;
  return launch_kernel(kernel, blocks, kBackwardThreads, 0, stream, problem, products, in_chunks);
}

// One warp per head: each lane sums every 32nd part, then the lanes' sums are added in a fixed order.
__global__ void slope_gradient_kernel(const float* parts, std::int64_t count, float* gradients) {
  double sum = 0;
  for (std::int64_t part = threadIdx.x; part < count; part += 32) sum += parts[blockIdx.x * count + part];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0) gradients[blockIdx.x] = static_cast<float>(sum);
}

}  // namespace

cudaError_t finish_backward(const BackwardProblem& problem, const BackwardWorkspace& workspace, BackwardTile tile,
                            cudaStream_t stream) {
  const Problem& p = problem.problem;
  cudaError_t error = cudaSuccess;
  if (workspace.products)
    error = p.type == ElementType::bfloat16 ? query_gradients<__nv_bfloat16>(problem, workspace.products, tile, stream)
                                            : query_gradients<__half>(problem, workspace.products, tile, stream);
  if (error != cudaSuccess || !workspace.slopes) return error;
  const int keys = backward_tile_size(backward_width(p.d, p.d_v), tile).keys;
  const std::int64_t parts = p.batch * ((p.n_k + keys - 1) / keys);
  return launch_kernel(slope_gradient_kernel, static_cast<unsigned>(p.heads), 32, 0, stream, workspace.slopes, parts,
                       static_cast<float*>(problem.gradients.slopes));
}

}  // namespace isentropic::cuda
