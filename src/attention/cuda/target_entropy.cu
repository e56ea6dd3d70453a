// The scale that gives each row its target entropy: one solver and one thread per row.
//
// The workspace holds the number of rows still being solved for, then the solvers.
#include <type_traits>

#include "attention/cuda/statistics_record.cuh"
#include "attention/cuda/thread_block.cuh"
#include "isentropic/entropy_solver.hpp"

namespace isentropic::cuda {
namespace {

constexpr int kRowsOfBlock = 128;
constexpr std::size_t kCounterBytes = 256;

int* counter_of(const TargetEntropy& solve) { return static_cast<int*>(solve.workspace); }

EntropySolver* solvers_of(const TargetEntropy& solve) {
  return reinterpret_cast<EntropySolver*>(static_cast<char*>(solve.workspace) + kCounterBytes);
}

unsigned blocks_of(const Problem& problem) {
  return static_cast<unsigned>((problem.rows() + kRowsOfBlock - 1) / kRowsOfBlock);
}

// What a pass can resolve: a few units in the last place of H, whose error grows like 1 + log k.
template <class R>
constexpr double kResolution = (std::is_same_v<R, float> ? 8 : 4096) * std::numeric_limits<R>::epsilon();

template <class R>
__device__ double tolerance(std::int64_t visible) {
  return kResolution<R> * (1 + (visible > 1 ? std::log(static_cast<double>(visible)) : 0.0));
}

template <class R>
__global__ void begin_kernel(const Problem p, const TargetEntropy solve, int* counter, EntropySolver* solvers,
                             R* lambda) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kRowsOfBlock + threadIdx.x;
  bool active = false;
  if (row < p.batch * p.heads * p.n_q) {
    const RowIndex at = row_index(p, row);
    const std::int64_t counted = count_at(solve.visible, p, at), visible = counted > 0 ? counted : 0;
    const double start = 1 / std::sqrt(static_cast<double>(p.d));
    const EntropySolver solver(number_at<R>(solve.target, at.h), visible, start, tolerance<R>(visible));
    solvers[row] = solver;
    lambda[row] = static_cast<R>(solver.lambda());
    active = solver.active();
  }
  const int count = __syncthreads_count(active);
  if (threadIdx.x == 0 && count > 0) atomicAdd(counter, count);
}

// Subtracts the rows that need no further evaluation: the counter stays above 0 as long as any block has rows left.
template <class R>
__global__ void update_kernel(const Problem p, const RowArrays rows, int* counter, EntropySolver* solvers, R* lambda) {
  if (!__syncthreads_or(threadIdx.x == 0 && *static_cast<volatile int*>(counter) > 0)) return;
  const std::int64_t row = std::int64_t{blockIdx.x} * kRowsOfBlock + threadIdx.x;
  bool finished = false;
  if (row < p.batch * p.heads * p.n_q && solvers[row].active()) {
    const SoftmaxRecord<double> keys = record_at<R>(p, rows, row_index(p, row));
    EntropySolver solver = solvers[row];
    solver.update(entropy(keys), score_variance(keys), -keys.sums.u / keys.sums.z);
    solvers[row] = solver;
    lambda[row] = static_cast<R>(solver.lambda());
    finished = !solver.active();
  }
  const int count = __syncthreads_count(finished);
  if (threadIdx.x == 0 && count > 0) atomicSub(counter, count);
}

template <class R>
__global__ void end_kernel(std::int64_t count, const EntropySolver* solvers, R* lambda, std::int64_t* status,
                           std::int64_t* iterations) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kRowsOfBlock + threadIdx.x;
  if (row >= count) return;
  const EntropySolver solver = solvers[row];
  if (lambda) lambda[row] = static_cast<R>(solver.lambda());
  if (status) status[row] = static_cast<std::int64_t>(solver.status());
  if (iterations) iterations[row] = solver.iterations();
}

template <class R>
__global__ void implicit_term_kernel(const Problem p, const RowArrays rows, const R* lambda, const R* lambda_gradient,
                                     const std::int64_t* status, R* a1) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kRowsOfBlock + threadIdx.x;
  if (row >= p.batch * p.heads * p.n_q) return;
  const double variance = score_variance(record_at<R>(p, rows, row_index(p, row)));
  if (status[row] != static_cast<std::int64_t>(TargetEntropyStatus::solved) || !(variance > 0)) return;
  const double moved = static_cast<double>(lambda_gradient[row]) * static_cast<double>(lambda[row]);
  a1[row] = static_cast<R>(static_cast<double>(a1[row]) - moved / variance);
}

// Calls f(R()) with the type of the sums.
template <class F>
cudaError_t with_real(const Problem& problem, F f) {
  return problem.type == ElementType::float64 ? f(double()) : f(float());
}

}  // namespace

std::size_t target_entropy_workspace(const Problem& problem) {
  return kCounterBytes + static_cast<std::size_t>(problem.rows()) * sizeof(EntropySolver);
}

const int* target_entropy_active(const TargetEntropy& solve) { return counter_of(solve); }

cudaError_t target_entropy_begin(const Problem& problem, const TargetEntropy& solve, void* lambda,
                                 cudaStream_t stream) {
  if (const cudaError_t error = cudaMemsetAsync(solve.workspace, 0, kCounterBytes, stream)) return error;
  return with_real(problem, [&](auto real) {
    using R = decltype(real);
    return launch_kernel(begin_kernel<R>, blocks_of(problem), kRowsOfBlock, 0, stream, problem, solve,
                         counter_of(solve), solvers_of(solve), static_cast<R*>(lambda));
  });
}

cudaError_t target_entropy_update(const Problem& problem, const RowArrays& rows, const TargetEntropy& solve,
                                  void* lambda, cudaStream_t stream) {
  return with_real(problem, [&](auto real) {
    using R = decltype(real);
    return launch_kernel(update_kernel<R>, blocks_of(problem), kRowsOfBlock, 0, stream, problem, rows,
                         counter_of(solve), solvers_of(solve), static_cast<R*>(lambda));
  });
}

cudaError_t target_entropy_end(const Problem& problem, const TargetEntropy& solve, void* lambda, std::int64_t* status,
                               std::int64_t* iterations, cudaStream_t stream) {
  return with_real(problem, [&](auto real) {
    using R = decltype(real);
    return launch_kernel(end_kernel<R>, blocks_of(problem), kRowsOfBlock, 0, stream, problem.rows(), solvers_of(solve),
                         static_cast<R*>(lambda), status, iterations);
  });
}

cudaError_t add_implicit_term(const Problem& problem, const RowArrays& rows, const void* lambda,
                              const void* lambda_gradient, const std::int64_t* status, void* a1, cudaStream_t stream) {
  return with_real(problem, [&](auto real) {
    using R = decltype(real);
    return launch_kernel(implicit_term_kernel<R>, blocks_of(problem), kRowsOfBlock, 0, stream, problem, rows,
                         static_cast<const R*>(lambda), static_cast<const R*>(lambda_gradient), status,
                         static_cast<R*>(a1));
  });
}

}  // namespace isentropic::cuda
