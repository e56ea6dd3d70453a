// Blocks of rows in shared memory, and prefetching of fragments for products.
#pragma once

#include "attention/cuda/sm80.cuh"

namespace isentropic::cuda {

// Bytes of a row of kWidth 16-bit elements, rounded up to a multiple of 128.
template <int kWidth>
inline constexpr int kRowBytes = (kWidth + 63) / 64 * 128;

// Rows of kWidth elements each, in chunks of 16 bytes, swizzled: chunk c of a row is stored at c ^ (row % 8), so that a
// column of chunks touches every bank once.
template <int kWidth>
__device__ inline std::uint32_t chunk_offset(int row, int chunk) {
  return static_cast<std::uint32_t>(row * kRowBytes<kWidth> + ((chunk ^ (row & 7)) * 16));
}

// Given the address of chunk 0 or 1 of a row, the address `step` pairs of chunks further on. Rows begin at multiples of
// 128 bytes.
__device__ inline std::uint32_t pairs_on(std::uint32_t address, int step) {
  return (address ^ static_cast<std::uint32_t>(step % 4 * 32)) + static_cast<std::uint32_t>(step / 4 * 128);
}

// The chunks of a block of rows that one of kThreads threads copies: one in every kRowsAtOnce-th row.
template <int kWidth, int kRows, int kThreads>
struct CopyShare {
  static constexpr int kChunks = kWidth / 8, kRowsAtOnce = kThreads / kChunks / 4 * 4;
  static_assert(kRows % kRowsAtOnce == 0);
  __device__ static int chunk() { return threadIdx.x % kChunks; }
  __device__ static int row() { return threadIdx.x / kChunks; }
  // Leftover threads that would not cover a whole row stay idle.
  __device__ static bool stands_by() { return kRowsAtOnce * kChunks < kThreads && row() >= kRowsAtOnce; }
};

// Copies this thread's share of kRows rows asynchronously, starting from its first chunk at `source`; rows from `rows`
// on and columns from `width` on are zero-filled.
template <int kWidth, int kRows, int kThreads, class E>
__device__ inline void copy_share(std::uint32_t to, const E* source, std::int64_t row_stride, int rows,
                                  int width = kWidth) {
  using Share = CopyShare<kWidth, kRows, kThreads>;
  if (Share::stands_by()) return;
  const int row0 = Share::row(), chunk = Share::chunk();
  // Relative to this thread's first row, so that the loop compares against a single number.
  const int left = chunk * 8 < width ? rows - row0 : 0;
#pragma unroll
  for (int i = 0; i < kRows / Share::kRowsAtOnce; ++i, source += Share::kRowsAtOnce * row_stride)
    copy_async(to + chunk_offset<kWidth>(row0 + i * Share::kRowsAtOnce, chunk), source, i * Share::kRowsAtOnce < left);
}

// Copies rows [first, first + kRows) of n asynchronously with kThreads threads; rows from n on and columns from `width`
// on are zero-filled.
template <int kWidth, int kRows, int kThreads, class E>
__device__ inline void copy_rows(std::uint32_t to, const E* from, std::int64_t row_stride, std::int64_t first,
                                 std::int64_t n, int width = kWidth) {
  using Share = CopyShare<kWidth, kRows, kThreads>;
  const E* source = from + (first + Share::row()) * row_stride + Share::chunk() * 8;
  copy_share<kWidth, kRows, kThreads>(to, source, row_stride, static_cast<int>(min(n - first, std::int64_t{kRows})),
                                      width);
}

// The address a lane passes to store_fragments, for the 8 rows from `row` on and kCount chunks from `chunk` on, a
// multiple of kCount: that of a row of one matrix, or of the lane's own part of row lane / 4 of the first.
template <int kWidth, int kCount>
__device__ inline std::uint32_t place_to_store(int row, int chunk) {
  const int lane = threadIdx.x % 32;
  if constexpr (kStoresMatrices) return chunk_offset<kWidth>(row + lane % 8, chunk + lane / 8 % kCount);
  return chunk_offset<kWidth>(row + lane / 4, chunk) + lane % 4 * 4;
}

// Calls use(fragments, turn) for every turn, with fragments loaded a turn ahead: a load takes as long as a few
// products.
template <int kTurns, class Load, class Use>
__device__ inline void with_fragments_ahead(Load load, Use use) {
  constexpr int kAtOnce = kTurns % 32 == 0 ? 32 : kTurns;  // longer loops are not fully unrolled
  static_assert(kAtOnce <= 48);
  std::uint32_t ring[2][4];
  load(ring[0], 0);
#pragma unroll
  for (int first = 0; first < kTurns; first += kAtOnce)
#pragma unroll
    for (int turn = first; turn < first + kAtOnce; ++turn) {
      if (turn + 1 < kTurns) load(ring[(turn + 1) % 2], turn + 1);
      use(ring[turn % 2], turn);
    }
}

}  // namespace isentropic::cuda
