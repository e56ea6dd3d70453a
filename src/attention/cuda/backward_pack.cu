// The row constants as the backward kernels read them: PackedRow and HigherTerms.
#include "attention/cuda/launch_backward.hpp"
#include "attention/cuda/thread_block.cuh"

namespace isentropic::cuda {
namespace {

constexpr int kPackThreads = 256;

__global__ void __launch_bounds__(kPackThreads)
    pack_rows_kernel(const __grid_constant__ RowConstantArrays rows, std::int64_t count, PackedRow* packed,
                     HigherTerms* higher) {
  constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;
  constexpr float kBeyondAnyScore = 1e30f;  // for an empty row, whose weights are 0
  const std::int64_t row = std::int64_t{blockIdx.x} * kPackThreads + threadIdx.x;
  if (row >= count) return;
  const auto at = [&](const void* array, float absent) {
    return array ? static_cast<const float*>(array)[row] : absent;
  };
  const float m = at(rows.max_score, 0), mean = at(rows.mean_score, 0), a1 = at(rows.a1, 0);
  const bool empty = m == -INFINITY;
  const float weight = empty ? 0.0f : expf(-at(rows.log_partition, 0));  // 1 / z
  packed[row] = {empty ? kBeyondAnyScore : __fmul_rn(m, kLog2E),         // rounded as in the forward pass
                 weight * fmaf(-a1, mean, at(rows.base, 0)), weight * kLn2 * a1, weight * at(rows.gate, 1)};
  if (higher) higher[row] = {kLog2E * mean, weight * kLn2 * kLn2 * at(rows.a2, 0), weight * weight * at(rows.a3, 0), 0};
}

}  // namespace

cudaError_t pack_rows(const BackwardProblem& problem, const BackwardWorkspace& workspace, cudaStream_t stream) {
  const std::int64_t count = problem.problem.rows();
  const auto blocks = static_cast<unsigned>((count + kPackThreads - 1) / kPackThreads);
  return launch_kernel(pack_rows_kernel, blocks, kPackThreads, 0, stream, problem.rows, count, workspace.rows,
                       workspace.higher);
}

}  // namespace isentropic::cuda
