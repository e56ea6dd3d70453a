// The plain backward pass: finds the rows that have a gradient at all, runs two sweeps, and sums over the rows of a
// head. It uses no atomic additions, so its results are reproducible bit for bit.
#include "attention/cuda/plain_gradients.cuh"

namespace isentropic::cuda {
namespace {

using namespace plain;

constexpr int kWarp = 32, kWarps = kThreads / kWarp;

// One warp per row: whether its upstream gradients are all 0.
template <class R>
__global__ void find_silent(const __grid_constant__ BackwardProblem backward, bool* silent) {
  const Problem& p = backward.problem;
  const std::int64_t place = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  const bool inside = place < p.batch * p.heads * p.n_q;
  bool any = false;
  if (inside) {
    const auto is_set = [&](const void* array) { return array && real_at<R>(array, place) != R(0); };
    any =
        is_set(backward.rows.base) || is_set(backward.rows.a1) || is_set(backward.rows.a2) || is_set(backward.rows.a3);
    const Head head = {place / p.n_q / p.heads, place / p.n_q % p.heads};
    const Matrix output = output_gradient_of(backward, head);
    with_element<R>(p.type, [&](auto element) {
      using E = decltype(element);
      const E* row = static_cast<const E*>(output.data) + output.origin + place % p.n_q * output.stride;
      for (std::int64_t c = threadIdx.x % kWarp; c < output.columns; c += kWarp) any = any || to_real(row[c]) != 0;
    });
  }
  any = __any_sync(0xffffffffu, any);
  if (inside && threadIdx.x % kWarp == 0) silent[place] = !any;
}

constexpr std::size_t kSumBytes = kThreads * sizeof(double);

// sums[h, e] = sum over b and t of parts[b, h, t, e], in a fixed order: one block per (h, e).
template <class R>
__global__ void sum_parts(const void* parts, std::int64_t batch, std::int64_t heads, std::int64_t count,
                          std::int64_t entries, void* sums) {
  double* threads = reinterpret_cast<double*>(block_memory());
  const std::int64_t h = blockIdx.x / entries, e = blockIdx.x % entries;
  double sum = 0;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t t = threadIdx.x; t < count; t += kThreads)
      sum += static_cast<double>(real_at<R>(parts, ((b * heads + h) * count + t) * entries + e));
  threads[threadIdx.x] = sum;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) threads[threadIdx.x] += threads[threadIdx.x + half];
  }
  if (threadIdx.x == 0) static_cast<R*>(sums)[blockIdx.x] = static_cast<R>(threads[0]);
}

struct Layout {
  std::size_t slopes = 0, relative = 0, bytes = 0;  // the flags of silent rows come first

  explicit Layout(const BackwardProblem& problem) {
    const Problem& p = problem.problem;
    const std::size_t real = p.type == ElementType::float64 ? 8 : 4;
    const auto padded = [](std::size_t size) { return (size + 255) / 256 * 256; };
    const auto rows = static_cast<std::size_t>(p.rows());
    slopes = padded(rows);
    relative = slopes + padded(problem.gradients.slopes ? rows * real : 0);
    const std::int64_t tables = p.batch * p.heads * tiles_of(p.n_q);
    bytes =
        relative + padded(problem.gradients.relative ? static_cast<std::size_t>(tables * (2 * p.reach + 1)) * real : 0);
  }
};

template <class R>
cudaError_t run_backward(const BackwardProblem& problem, cudaStream_t stream) {
  const Problem& p = problem.problem;
  const Gradients& gradients = problem.gradients;
  const Layout layout(problem);
  char* memory = static_cast<char*>(problem.workspace);
  const BackwardWorkspace workspace = {reinterpret_cast<bool*>(memory), memory + layout.slopes,
                                       memory + layout.relative};
  cudaError_t error = launch(find_silent<R>, (p.rows() + kWarps - 1) / kWarps, 0, stream, problem, workspace.silent);
  if (error == cudaSuccess && gradients.bias && p.rows() * p.n_k > 0)  // for entries no row sees
    error = cudaMemsetAsync(gradients.bias, 0, static_cast<std::size_t>(p.rows() * p.n_k) * sizeof(R), stream);
  const bool by_query = gradients.query || gradients.lambda || gradients.slopes || gradients.bias || gradients.relative;
  if (error == cudaSuccess && by_query) error = sweep_queries<R>(problem, workspace, stream);
  if (error == cudaSuccess) error = sweep_keys<R>(problem, workspace, stream);
  const std::int64_t one = 1, entries = 2 * p.reach + 1, tiles = tiles_of(p.n_q);
  const void *slopes = workspace.slopes, *relative = workspace.relative;
  if (error == cudaSuccess && gradients.slopes)
    error = launch(sum_parts<R>, p.heads, kSumBytes, stream, slopes, p.batch, p.heads, p.n_q, one, gradients.slopes);
  if (error == cudaSuccess && gradients.relative)
    error = launch(sum_parts<R>, p.heads * entries, kSumBytes, stream, relative, p.batch, p.heads, tiles, entries,
                   gradients.relative);
  return error;
}

}  // namespace

std::size_t plain_backward_workspace(const BackwardProblem& problem) { return Layout(problem).bytes; }

cudaError_t plain_backward(const BackwardProblem& problem, cudaStream_t stream) {
  return with_real(problem.problem.type, [&](auto real) { return run_backward<decltype(real)>(problem, stream); });
}

}  // namespace isentropic::cuda
