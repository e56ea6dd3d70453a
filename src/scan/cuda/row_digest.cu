// One block per head and row: sums over ranges of keys, and the heaviest keys.
#include "attention/cuda/thread_block.cuh"
#include "scan/cuda/block_sums.cuh"
#include "scan/cuda/row_digest.hpp"
#include "scan/stretches.hpp"

namespace isentropic::scan::cuda {
namespace {

using isentropic::cuda::launch_kernel;

// A row of weights, read jointly by the threads of a block.
struct BlockRow {
  const float* weights;
  SampledPlace place;
  BlockScratch& scratch;

  // Sums over the keys of [begin, end) that the row sees; key(j) is the index of the weight.
  template <class Key>
  __device__ double sum(std::int64_t begin, std::int64_t end, Key key) const {
    if (begin < place.begin) begin = place.begin;
    if (end > place.end) end = place.end;
    double sum = 0;
    for (std::int64_t j = begin + threadIdx.x; j < end; j += kBlockThreads) sum += weights[key(j)];
    return sum_of_block(sum, scratch);
  }
  __device__ double sum(std::int64_t begin, std::int64_t end) const {
    return sum(begin, end, [](std::int64_t j) { return j; });
  }
};

template <class Key>
__device__ void find_evidence(const BlockRow& row, const std::int32_t* targets, Key key, double* out) {
  const SampledPlace& place = row.place;
  const std::int64_t previous = place.position - 1;
  const double recent = row.sum(place.position - kRecentKeys + 1, place.position + 1, key);
  double copied = 0;
  for (std::int64_t t = threadIdx.x; t < place.targets; t += kBlockThreads)
    copied += row.weights[key(targets[place.first_target + t])];
  copied = sum_of_block(copied, row.scratch);
  if (threadIdx.x > 0) return;
  out[0] = place.sees(previous) ? row.weights[key(previous)] : 0.0;
  out[1] = recent, out[2] = copied;
}

__device__ void find_profile(const BlockRow& row, int layout_bins, double* out) {
  const int bins = distance_bins(row.place);
  for (int bin = 0; bin < layout_bins; ++bin) {
    double weight = 0;
    if (bin < bins) {
      const DistanceBin keys = distance_bin(row.place.position, bin);
      weight = row.sum(keys.before_begin, keys.before_end) + row.sum(keys.after_begin, keys.after_end);
    }
    if (threadIdx.x == 0) out[bin] = weight;
  }
}

// One warp per stretch of all keys.
__device__ void find_stretches(const float* weights, std::int64_t keys, int count, double* out) {
  const auto n = static_cast<std::size_t>(keys), stretches = static_cast<std::size_t>(count);
  for (std::size_t s = threadIdx.x / kWarp; s < stretches; s += kBlockWarps) {
    double sum = 0;
    for (std::size_t j = stretch_begin(s, n, stretches) + threadIdx.x % kWarp; j < stretch_begin(s + 1, n, stretches);
         j += kWarp)
      sum += weights[j];
    sum = sum_of_warp(sum);
    if (threadIdx.x % kWarp == 0) out[s] = sum;
  }
}

// ---- the heaviest keys ----

// Ranks heavier keys higher, then earlier ones; always above 0.
__device__ std::uint64_t rank_of(float weight, std::int64_t key) {
  const unsigned bits = __float_as_uint(weight), ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return std::uint64_t{ordered} << 32 | (0xffffffffu - static_cast<unsigned>(key));
}
__device__ std::int64_t key_of(std::uint64_t rank) { return 0xffffffffu - static_cast<unsigned>(rank); }

// Every thread holds the highest remaining rank of its keys begin + thread, begin + thread + kBlockThreads, ... In each
// step the highest of all is taken, and the warp of its thread searches for that thread's next one.
__device__ void find_heaviest(const BlockRow& row, double* keys, double* weights, double* rest) {
  const std::int64_t begin = row.place.begin, end = row.place.end;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  std::uint64_t mine = 0, lowest = 0;
  for (std::int64_t j = begin + thread; j < end; j += kBlockThreads) {
    const std::uint64_t rank = rank_of(row.weights[j], j);
    if (rank > mine) mine = rank;
  }
  for (int place = 0; place < kKeysOfRow; ++place) {
    const std::uint64_t highest = highest_of_block(mine, row.scratch);
    if (thread == 0) {
      keys[place] = highest > 0 ? static_cast<double>(key_of(highest)) : -1.0;
      weights[place] = highest > 0 ? row.weights[key_of(highest)] : 0.0;
    }
    if (highest == 0) continue;  // the same in every thread
    lowest = highest;
    const int winner = static_cast<int>((key_of(highest) - begin) % kBlockThreads);
    if (winner / kWarp != thread / kWarp) continue;
    std::uint64_t next = 0;
    for (std::int64_t j = begin + winner + std::int64_t{lane} * kBlockThreads; j < end; j += kWarp * kBlockThreads) {
      const std::uint64_t rank = rank_of(row.weights[j], j);
      if (rank < highest && rank > next) next = rank;
    }
    next = highest_of_warp(next);
    if (thread == winner) mine = next;
  }
  double others = 0;
  for (std::int64_t j = begin + thread; j < end; j += kBlockThreads)
    if (rank_of(row.weights[j], j) < lowest) others += row.weights[j];
  others = sum_of_block(others, row.scratch);
  if (thread == 0) *rest = others;
}

__global__ void __launch_bounds__(kBlockThreads)
    digest_kernel(const SampledWeights sampled, const DigestLayout layout, double* digests) {
  __shared__ BlockScratch scratch;
  const std::int64_t at = blockIdx.x, head = at / sampled.rows;
  const BlockRow row = {sampled.weights + at * sampled.keys, sampled.places[at % sampled.rows], scratch};
  double* const out = digests + at * layout.size();
  find_evidence(
      row, sampled.targets, [](std::int64_t j) { return j; }, out);
  find_profile(row, layout.bins, out + layout.profile_at());
  if (!layout.is_drawn) return;
  const std::uint64_t offset = shuffle_offset(sampled.layer, static_cast<std::uint64_t>(head), row.place);
  find_evidence(
      row, sampled.targets, [&](std::int64_t j) { return shuffled_key(row.place, offset, j); },
      out + layout.shuffled_at());
  find_stretches(row.weights, sampled.keys, layout.blocks, out + layout.blocks_at());
  find_stretches(row.weights, sampled.keys, layout.columns, out + layout.columns_at());
  find_heaviest(row, out + layout.heaviest_keys_at(), out + layout.heaviest_weights_at(), out + layout.rest_at());
}

}  // namespace

cudaError_t digest_rows(const SampledWeights& sampled, const DigestLayout& layout, double* digests,
                        cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(sampled.heads * sampled.rows);
  return launch_kernel(digest_kernel, blocks, kBlockThreads, 0, stream, sampled, layout, digests);
}

}  // namespace isentropic::scan::cuda
