// Chooses the number of parts and the kernel, and lays out the workspace.
#include "attention/cuda/split.hpp"

#include <algorithm>

#include "attention/cuda/split_launch.hpp"
#include "attention/cuda/tensor_cores.hpp"

namespace isentropic::cuda {
namespace {

constexpr std::int64_t kMostSplitRows = 64;     // per kv head: four tiles, which share keys through the cache
constexpr std::int64_t kFewestSplitKeys = 256;  // per part: fewer are not worth the merge
constexpr std::int64_t kMostParts = 256;
constexpr std::int64_t kMostWaves = 4;  // of blocks on the device
constexpr std::int64_t kMostSplitLength = std::int64_t{1} << 30;

// f.template operator()<type, d>()
template <class F>
auto with_split_kernel(const Problem& problem, F f) {
  if (problem.type == ElementType::bfloat16)
    return problem.d == 64 ? f.template operator()<ElementType::bfloat16, 64>()
                           : f.template operator()<ElementType::bfloat16, 128>();
  return problem.d == 64 ? f.template operator()<ElementType::float16, 64>()
                         : f.template operator()<ElementType::float16, 128>();
}

bool takes_split(const Problem& p) { return fits_tensor_cores(p) && p.n_k <= kMostSplitLength; }

std::int64_t resident_blocks(const Problem& problem) {
  return with_split_kernel(problem, []<ElementType type, int d>() { return resident_split_blocks<type, d>(); });
}

// Parts are consecutive in each array. Returns the bytes; sets addresses if there is a workspace.
std::size_t lay_out_parts(const Problem& problem, std::int64_t parts, void* workspace, PartialRows* out) {
  const auto rows = static_cast<std::size_t>(parts * problem.rows());
  std::size_t bytes = 0;
  const auto take = [&](std::size_t size) -> void* {
    const std::size_t at = bytes;
    bytes += (rows * size + 255) / 256 * 256;
    return workspace ? static_cast<char*>(workspace) + at : nullptr;
  };
  out->parts = parts;
  out->output = take(static_cast<std::size_t>(problem.value ? problem.d_v : 0) * sizeof(float));
  out->rows.m = take(sizeof(float)), out->rows.z = take(sizeof(float)), out->rows.u = take(sizeof(float));
  out->rows.w = take(sizeof(float)), out->rows.c = take(sizeof(float));
  out->rows.k = static_cast<std::int64_t*>(take(sizeof(std::int64_t)));
  out->rows.a = static_cast<std::int64_t*>(take(sizeof(std::int64_t)));
  return bytes;
}

}  // namespace

// The usual kernel is faster if each head's queries nearly fill its blocks and the heads fill the device.
bool has_split_forward(const Problem& problem) {
  if (problem.rows() == 0 || !takes_split(problem)) return false;
  if (problem.heads / problem.kv_heads * problem.n_q > kMostSplitRows || problem.n_k < kFewestSplitKeys) return false;
  return problem.n_q <= kSplitRows || problem.batch * problem.heads < resident_blocks(problem);
}

// The smallest number of parts for which the last wave of blocks is nearly full.
std::int64_t split_parts(const Problem& problem) {
  if (problem.rows() == 0) return 1;
  const std::int64_t blocks = problem.batch * problem.kv_heads * split_row_tiles(problem);
  const std::int64_t resident = resident_blocks(problem);
  const std::int64_t most = std::clamp<std::int64_t>(problem.n_k / kFewestSplitKeys, 1, kMostParts);
  std::int64_t best = 1;
  double fullest = 0;
  for (std::int64_t parts = 1; parts <= most && blocks * parts <= kMostWaves * resident; ++parts) {
    const std::int64_t waves = (blocks * parts + resident - 1) / resident;
    const double full = static_cast<double>(blocks * parts) / static_cast<double>(waves * resident);
    if (full > 1.05 * fullest) best = parts, fullest = full;
  }
  return best;
}

std::size_t split_workspace(const Problem& problem) {
  PartialRows parts;
  return lay_out_parts(problem, split_parts(problem), nullptr, &parts);
}

cudaError_t split_partials(const Problem& problem, const PartialRows& parts, cudaStream_t stream) {
  if (problem.rows() == 0) return cudaSuccess;
  if (!takes_split(problem) || parts.parts < 1) return cudaErrorInvalidValue;
  return with_split_kernel(problem,
                           [&]<ElementType type, int d>() { return launch_split<type, d>(problem, parts, stream); });
}

cudaError_t split_forward(const Problem& problem, const ForwardOutput& output, void* workspace, cudaStream_t stream) {
  if (problem.rows() == 0) return cudaSuccess;
  PartialRows parts;
  lay_out_parts(problem, split_parts(problem), workspace, &parts);
  if (!problem.value || !output.output) parts.output = nullptr;
  if (!output.rows.k) parts.rows.k = nullptr;
  if (!output.rows.a) parts.rows.a = nullptr;
  const cudaError_t error = split_partials(problem, parts, stream);
  if (error != cudaSuccess) return error;
  Problem merged = problem;
  if (output.real_output) merged.type = ElementType::float32;  // type of what the merge writes; inputs are already read
  return merge_parts(merged, parts, output, stream);
}

}  // namespace isentropic::cuda
