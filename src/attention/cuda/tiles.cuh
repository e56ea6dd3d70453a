// Blocks of rows in shared memory, and loads of fragments ahead of the products that use them.
#pragma once

#include "attention/cuda/sm80.cuh"

namespace isentropic::cuda {

// Of a row of kWidth elements of 16 bits: whole groups of 128.
template <int kWidth>
inline constexpr int kRowBytes = (kWidth + 63) / 64 * 128;

// Rows of kWidth elements each, in chunks of 16 bytes. Chunk c of a row lies where chunk c ^ (row % 8) would: a column
// of chunks then touches every bank once.
template <int kWidth>
__device__ inline std::uint32_t chunk_offset(int row, int chunk) {
  return static_cast<std::uint32_t>(row * kRowBytes<kWidth> + ((chunk ^ (row & 7)) * 16));
}

// From the address of chunk 0 or 1 of a row to that of the chunk `step` pairs of chunks on. Rows begin at multiples of
// 128 bytes.
__device__ inline std::uint32_t pairs_on(std::uint32_t address, int step) {
  return (address ^ static_cast<std::uint32_t>(step % 4 * 32)) + static_cast<std::uint32_t>(step / 4 * 128);
}

// Which chunks of a block of rows a thread of kThreads copies: one of every kRowsAtOnce-th row.
template <int kWidth, int kRows, int kThreads>
struct CopyShare {
  static constexpr int kChunks = kWidth / 8, kRowsAtOnce = kThreads / kChunks / 4 * 4;
  static_assert(kRows % kRowsAtOnce == 0);
  __device__ static int chunk() { return threadIdx.x % kChunks; }
  __device__ static int row() { return threadIdx.x / kChunks; }
  // Threads that would begin a row that they cannot all take stand by.
  __device__ static bool stands_by() { return kRowsAtOnce * kChunks < kThreads && row() >= kRowsAtOnce; }
};

// The thread's share of kRows rows, asynchronously, from its first chunk at `source` on; those beyond the first `rows`
// rows of the block, and columns beyond `width`, are zeros.
template <int kWidth, int kRows, int kThreads, class E>
__device__ inline void copy_share(std::uint32_t to, const E* source, std::int64_t row_stride, int rows,
                                  int width = kWidth) {
  using Share = CopyShare<kWidth, kRows, kThreads>;
  if (Share::stands_by()) return;
  const int row0 = Share::row(), chunk = Share::chunk();
  // From this thread's first row on, so that there is one number to compare with.
  const int left = chunk * 8 < width ? rows - row0 : 0;
#pragma unroll
  for (int i = 0; i < kRows / Share::kRowsAtOnce; ++i, source += Share::kRowsAtOnce * row_stride)
    copy_async(to + chunk_offset<kWidth>(row0 + i * Share::kRowsAtOnce, chunk), source, i * Share::kRowsAtOnce < left);
}

// Rows [first, first + kRows) of n, asynchronously, by kThreads threads; rows beyond n and columns beyond `width` are
// zeros.
template <int kWidth, int kRows, int kThreads, class E>
__device__ inline void copy_rows(std::uint32_t to, const E* from, std::int64_t row_stride, std::int64_t first,
                                 std::int64_t n, int width = kWidth) {
  using Share = CopyShare<kWidth, kRows, kThreads>;
  const E* source = from + (first + Share::row()) * row_stride + Share::chunk() * 8;
  copy_share<kWidth, kRows, kThreads>(to, source, row_stride, static_cast<int>(min(n - first, std::int64_t{kRows})),
                                      width);
}

// The address that a lane gives to store_fragments, for the 8 rows from `row` on and kCount chunks from `chunk` on, a
// multiple of that: of a row of one matrix, or of its own part of row lane / 4 of the first.
template <int kWidth, int kCount>
__device__ inline std::uint32_t place_to_store(int row, int chunk) {
  const int lane = threadIdx.x % 32;
  if constexpr (kStoresMatrices) return chunk_offset<kWidth>(row + lane % 8, chunk + lane / 8 % kCount);
  return chunk_offset<kWidth>(row + lane / 4, chunk) + lane % 4 * 4;
}

// use(fragments, turn) for every turn, each with its fragments, loaded a turn ahead: a load takes as long as a few
// products.
template <int kTurns, class Load, class Use>
__device__ inline void with_fragments_ahead(Load load, Use use) {
  constexpr int kAtOnce = kTurns % 32 == 0 ? 32 : kTurns;  // longer loops are not unrolled
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
