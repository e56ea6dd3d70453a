// Memory throughput of keys and values while decoding; run with --gtest_also_run_disabled_tests.
#include <cstdio>

#include "attention/cuda/split.hpp"
#include "cuda/device_case.hpp"

namespace isentropic::cuda {
namespace {

// A block of random numbers, repeated.
void* repeated_numbers(Index count, DeviceMemory& memory) {
  constexpr Index kDrawn = 1 << 20;
  std::mt19937 random(3);
  const void* drawn = memory.numbers(ElementType::bfloat16, normal(kDrawn, 1, ElementType::bfloat16, random));
  auto* all = static_cast<char*>(memory.poisoned(static_cast<std::size_t>(count) * 2));
  for (Index at = 0; at < count; at += kDrawn)
    require(cudaMemcpy(all + at * 2, drawn, static_cast<std::size_t>(std::min(kDrawn, count - at)) * 2,
                       cudaMemcpyDeviceToDevice));
  return all;
}

// Mean seconds per call over several calls.
template <class F>
double mean_seconds(F call) {
  constexpr int kCalls = 50;
  cudaEvent_t begin, end;
  require(cudaEventCreate(&begin));
  require(cudaEventCreate(&end));
  for (int i = 0; i < 5; ++i) call();
  require(cudaEventRecord(begin));
  for (int i = 0; i < kCalls; ++i) call();
  require(cudaEventRecord(end));
  require(cudaEventSynchronize(end));
  float milliseconds = 0;
  require(cudaEventElapsedTime(&milliseconds, begin, end));
  cudaEventDestroy(begin), cudaEventDestroy(end);
  return milliseconds / 1e3 / kCalls;
}

// One query, 32 heads on 8 kv heads, all statistics.
void print_split_speed(Index n, Index d) {
  DeviceMemory memory;
  Problem p;
  p.batch = 1, p.heads = 32, p.kv_heads = 8, p.n_q = 1, p.n_k = n, p.d = p.d_v = d;
  p.scale = 1 / std::sqrt(static_cast<double>(d)), p.moments = MomentSet::all;
  p.query = repeated_numbers(p.heads * d, memory);
  p.key = repeated_numbers(p.kv_heads * n * d, memory), p.value = repeated_numbers(p.kv_heads * n * d, memory);
  p.query_stride = {p.heads * d, d, d}, p.key_stride = p.value_stride = {p.kv_heads * n * d, n * d, d};
  ForwardOutput out = forward_output(p, memory);
  out.rows.k = out.rows.a = nullptr;
  void* workspace = memory.poisoned(split_workspace(p));
  const double bytes = static_cast<double>(4 * p.kv_heads * n * d);
  const double whole = mean_seconds([&] { require(split_forward(p, out, workspace, nullptr)); });
  std::printf("n = %ld, d = %ld: %.1f us, %.2f TB/s in %ld parts, merge included\n", static_cast<long>(n),
              static_cast<long>(d), whole * 1e6, bytes / whole / 1e12, static_cast<long>(split_parts(p)));
  for (const std::int64_t parts : {16, 33, 66, 99, 132, 256}) {
    Problem all = p;
    all.batch = parts, all.type = ElementType::float32;
    const ForwardOutput arrays = forward_output(all, memory);
    PartialRows partial = {parts, arrays.rows, arrays.output};
    partial.rows.k = partial.rows.a = nullptr;
    const double split = mean_seconds([&] { require(split_partials(p, partial, nullptr)); });
    const double merge = mean_seconds([&] { require(merge_parts(p, partial, out, nullptr)); });
    std::printf("  %3ld parts: %.1f us, %.2f TB/s; merge %.1f us\n", static_cast<long>(parts), split * 1e6,
                bytes / split / 1e12, merge * 1e6);
  }
}

TEST(CudaSplit, DISABLED_Speed) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  for (const Index n : {8192, 131072})
    for (const Index d : {64, 128}) print_split_speed(n, d);
}

}  // namespace
}  // namespace isentropic::cuda
