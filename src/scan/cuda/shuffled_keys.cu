// The weight every key receives from the sampled rows when the keys are in shuffled order.
#include "attention/cuda/thread_block.cuh"
#include "scan/cuda/block_sums.cuh"
#include "scan/cuda/row_digest.hpp"

namespace isentropic::scan::cuda {
namespace {

using isentropic::cuda::launch_kernel;

constexpr int kKeysOfThread = 8, kKeysOfBlock = kBlockThreads * kKeysOfThread;

// One block per kKeysOfBlock keys of a head, which walks over the rows. A thread's keys are kBlockThreads apart, so
// that an addition gives the place of the next one's weight.
__global__ void __launch_bounds__(kBlockThreads)
    shuffled_keys_kernel(const SampledWeights sampled, const std::int64_t tiles, KeyTotal* totals) {
  const std::int64_t head = blockIdx.x / tiles, tile = blockIdx.x % tiles * kKeysOfBlock;
  const std::int64_t first = tile + threadIdx.x;
  KeyTotal mine[kKeysOfThread];
#pragma unroll
  for (int n = 0; n < kKeysOfThread; ++n) {
    const std::int64_t j = first + n * kBlockThreads;
    mine[n] = j < sampled.keys ? totals[head * sampled.keys + j] : KeyTotal{0, 0};
  }
  for (std::int64_t r = 0; r < sampled.rows; ++r) {
    const SampledPlace place = sampled.places[r];
    if (place.end <= tile || place.begin >= tile + kKeysOfBlock || place.visible() <= 0) continue;
    const float* const weights = sampled.weights + (head * sampled.rows + r) * sampled.keys + place.begin;
    const std::int64_t k = place.visible();
    const std::uint64_t offset = shuffle_offset(sampled.layer, static_cast<std::uint64_t>(head), place);
    // Keys before the visible range wrap around as well, so that the additions remain valid.
    const std::int64_t round = ((first - place.begin) % k + k) % k, step = place.step * kBlockThreads % k;
    std::int64_t other = shuffled_key(place, offset, place.begin + round) - place.begin;
#pragma unroll
    for (int n = 0; n < kKeysOfThread; ++n) {
      if (place.sees(first + n * kBlockThreads)) mine[n].weight += weights[other], mine[n].rows += 1;
      other += step;
      if (other >= k) other -= k;
    }
  }
#pragma unroll
  for (int n = 0; n < kKeysOfThread; ++n) {
    const std::int64_t j = first + n * kBlockThreads;
    if (j < sampled.keys) totals[head * sampled.keys + j] = mine[n];
  }
}

// One block per head.
__global__ void __launch_bounds__(kBlockThreads)
    largest_kernel(const KeyTotal* totals, const std::int64_t keys, const float fewest_rows, double* largest) {
  __shared__ BlockScratch scratch;
  std::uint64_t mine = 0;  // bits of a non-negative float order like its value; plus 1, so that 0 means none
  for (std::int64_t j = threadIdx.x; j < keys; j += kBlockThreads) {
    const KeyTotal total = totals[blockIdx.x * keys + j];
    if (total.rows < fewest_rows) continue;
    const std::uint64_t bits = __float_as_uint(fmaxf(total.weight / total.rows, 0.0f)) + std::uint64_t{1};
    if (bits > mine) mine = bits;
  }
  mine = highest_of_block(mine, scratch);
  if (threadIdx.x == 0) largest[blockIdx.x] = mine > 0 ? __uint_as_float(static_cast<unsigned>(mine - 1)) : nan("");
}

}  // namespace

cudaError_t add_shuffled_keys(const SampledWeights& sampled, KeyTotal* totals, cudaStream_t stream) {
  const std::int64_t tiles = (sampled.keys + kKeysOfBlock - 1) / kKeysOfBlock;
  if (sampled.heads * tiles * sampled.rows == 0) return cudaSuccess;
  return launch_kernel(shuffled_keys_kernel, static_cast<unsigned>(sampled.heads * tiles), kBlockThreads, 0, stream,
                       sampled, tiles, totals);
}

cudaError_t largest_means(const KeyTotal* totals, std::int64_t heads, std::int64_t keys, std::int64_t fewest_rows,
                          double* largest, cudaStream_t stream) {
  return launch_kernel(largest_kernel, static_cast<unsigned>(heads), kBlockThreads, 0, stream, totals, keys,
                       static_cast<float>(fewest_rows), largest);
}

}  // namespace isentropic::scan::cuda
