// Rotary positions: one thread per eight pairs of a row, 16 bytes of each half.
#include "attention/cuda/rotation.hpp"
#include "attention/cuda/scores.cuh"
#include "attention/cuda/sm80.cuh"
#include "attention/cuda/thread_block.cuh"

namespace isentropic::cuda {
namespace {

constexpr unsigned kRotationThreads = 256;

template <class E>
__global__ void __launch_bounds__(kRotationThreads) rotation_kernel(const __grid_constant__ Rotation r) {
  const auto chunks = static_cast<unsigned>(r.d / (2 * kChunkNumbers)), heads = static_cast<unsigned>(r.heads),
             n = static_cast<unsigned>(r.n), threads = static_cast<unsigned>(r.batch) * heads * n * chunks;
  unsigned rest = blockIdx.x * kRotationThreads + threadIdx.x;
  if (rest >= threads) return;
  const unsigned t = rest % chunks * kChunkNumbers, h = (rest /= chunks) % heads, i = (rest /= heads) % n, b = rest / n;
  const std::int64_t half = r.d / 2;
  const E* x = static_cast<const E*>(r.x) + b * r.x_stride.batch + h * r.x_stride.head + i * r.x_stride.row + t;
  E* y = static_cast<E*>(r.y) + b * r.y_stride.batch + h * r.y_stride.head + i * r.y_stride.row + t;
  const uint4 low = *reinterpret_cast<const uint4*>(x), high = *reinterpret_cast<const uint4*>(x + half);
  std::uint32_t turned_low[4], turned_high[4];
  const float *cosine = r.cosine + i * r.d + t, *sine = r.sine + i * r.d + t;
#pragma unroll
  for (int pair = 0; pair < kChunkNumbers / 2; ++pair) {
    float first[2], second[2];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int at = 2 * pair + e;
      const float u = to_real(reinterpret_cast<const E*>(&low)[at]), v = to_real(reinterpret_cast<const E*>(&high)[at]);
      const float c = cosine[at], s = r.turns_back ? -sine[at] : sine[at];
      first[e] = u * c - v * s, second[e] = v * c + u * s;
    }
    turned_low[pair] = pack<E>(first[0], first[1]), turned_high[pair] = pack<E>(second[0], second[1]);
  }
  *reinterpret_cast<uint4*>(y) = {turned_low[0], turned_low[1], turned_low[2], turned_low[3]};
  *reinterpret_cast<uint4*>(y + half) = {turned_high[0], turned_high[1], turned_high[2], turned_high[3]};
}

}  // namespace

cudaError_t rotate(const Rotation& r, cudaStream_t stream) {
  const std::int64_t threads = r.batch * r.heads * r.n * (r.d / (2 * kChunkNumbers));
  const auto blocks = static_cast<unsigned>((threads + kRotationThreads - 1) / kRotationThreads);
  const auto kernel = r.type == ElementType::bfloat16 ? rotation_kernel<__nv_bfloat16> : rotation_kernel<__half>;
  return launch_kernel(kernel, blocks, kRotationThreads, 0, stream, r);
}

}  // namespace isentropic::cuda
