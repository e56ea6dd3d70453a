// What is left when all blocks of keys have added to G: the gradients of query and lambda, dQ = lambda G and
// dlambda = q.G; and the gradient of the slopes, from the parts of blocks.
#include "attention/cuda/backward_tiles.cuh"
#include "attention/cuda/thread_block.cuh"

namespace isentropic::cuda {
namespace {

// A block for each tile of G, its threads as they were when they added to it.
template <class E, int kQueries, int kD>
class QueryGradients {
 public:
  using Tiles = QueryTiles<kQueries, kD>;

  __device__ QueryGradients(const BackwardProblem& problem, float* products)
      : in(problem), p(problem.problem), sums(products + std::int64_t{blockIdx.x} * (kQueries * kD)) {
    const std::int64_t tiles = (p.n_q + kQueries - 1) / kQueries, head = blockIdx.x / tiles;
    i0 = (blockIdx.x - head * tiles) * kQueries, h = head % p.heads, b = head / p.heads;
  }

  __device__ void run(float (&shares)[Tiles::kColumnWarps][kQueries]) const {
#pragma unroll
    for (int t = 0; t < 2; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = Tiles::row(t, half);
        if (in.gradients.query && i0 + row < p.n_q) write_query(t, half, i0 + row);
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
    const float lambda = p.scales ? static_cast<const float*>(p.scales)[place(i)] : static_cast<float>(p.scale);
    const Strides& stride = in.gradients.query_stride;
    E* row = static_cast<E*>(in.gradients.query) + b * stride.batch + h * stride.head + i * stride.row;
#pragma unroll
    for (int tile = 0; tile < Tiles::kColumnTiles; ++tile)
      if (exists(tile))
        *reinterpret_cast<std::uint32_t*>(row + Tiles::column(tile)) =
            pack<E>(lambda * sums.read(t, tile, 2 * half), lambda * sums.read(t, tile, 2 * half + 1));
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
  const ProductTile<kQueries, kD> sums;
  std::int64_t i0, h, b;
};

template <class E, int kQueries, int kD>
__global__ void __launch_bounds__(kBackwardThreads)
    query_gradient_kernel(const __grid_constant__ BackwardProblem problem, float* products) {
  using Gradients = QueryGradients<E, kQueries, kD>;
  __shared__ float shares[Gradients::Tiles::kColumnWarps][kQueries];
  Gradients(problem, products).run(shares);
}

template <class E>
cudaError_t query_gradients(const BackwardProblem& problem, float* products, BackwardTile tile, cudaStream_t stream) {
  const Problem& p = problem.problem;
  const int width = backward_width(p.d, p.d_v), queries = backward_tile_size(width, tile).queries;
  const auto blocks = static_cast<unsigned>(p.batch * p.heads * ((p.n_q + queries - 1) / queries));
  auto kernel = query_gradient_kernel<E, 64, 64>;
  if (width == 256)
    kernel = query_gradient_kernel<E, 64, 256>;
  else if (width == 192)
    kernel = query_gradient_kernel<E, 64, 192>;
  else if (width == 128)
    kernel = query_gradient_kernel<E, 64, 128>;
  else if (queries == 128)
    kernel = query_gradient_kernel<E, 128, 64>;
  return launch_kernel(kernel, blocks, kBackwardThreads, 0, stream, problem, products);
}

// A warp for each head: lanes add every 32nd part, then what lanes found, in one order.
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
