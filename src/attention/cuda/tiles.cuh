// Blocks of rows in shared memory, and loads of fragments ahead of the products that use them.
#pragma once

#include "attention/cuda/sm80.cuh"

namespace isentropic::cuda {

// A block of rows of kD elements each, in chunks of 16 bytes. Chunk c of a row lies where chunk c ^ (row % 8) would: a
// column of chunks then touches every bank once. As blocks are aligned, the address of chunk c ^ 2 k is that of chunk
// c, exclusive or 32 k.
template <int kD>
__device__ inline std::uint32_t chunk_offset(int row, int chunk) {
  return static_cast<std::uint32_t>(row * kD * 2 + ((chunk ^ (row & 7)) * 16));
}

// Rows [first, first + kRows) of n, asynchronously, by kThreads threads; rows beyond n are zeros.
template <int kD, int kRows, int kThreads, class E>
__device__ inline void copy_rows(std::uint32_t to, const E* from, std::int64_t row_stride, std::int64_t first,
                                 std::int64_t n) {
  constexpr int kChunks = kD / 8, kRowsAtOnce = kThreads / kChunks;
  const int chunk = threadIdx.x % kChunks, row0 = threadIdx.x / kChunks;
  const E* source = from + (first + row0) * row_stride + chunk * 8;
#pragma unroll
  for (int i = 0; i < kRows / kRowsAtOnce; ++i) {
    const int row = row0 + i * kRowsAtOnce;
    copy_async(to + chunk_offset<kD>(row, chunk), source + i * kRowsAtOnce * row_stride, first + row < n);
  }
}

// use(fragments, turn) for every turn, each with its fragments, loaded a turn ahead: a load takes as long as a few
// products.
template <int kTurns, class Load, class Use>
__device__ inline void with_fragments_ahead(Load load, Use use) {
  std::uint32_t ring[2][4];
  load(ring[0], 0);
#pragma unroll
  for (int turn = 0; turn < kTurns; ++turn) {
    if (turn + 1 < kTurns) load(ring[(turn + 1) % 2], turn + 1);
    use(ring[turn % 2], turn);
  }
}

}  // namespace isentropic::cuda
