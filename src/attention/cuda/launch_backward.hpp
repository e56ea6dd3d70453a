// The backward kernels, each compiled in its own file (backward_instance.cu.in), and their launcher's choices: terms,
// tiles, workspace layout.
#pragma once

#include "attention/cuda/backward.hpp"

namespace isentropic::cuda {

// The terms a kernel supports: a1; a1, a2 and a3; these with soft cap and slopes; these with everything that is read or
// drawn per score: masks, biases, key tests, dropout.
enum class BackwardTerms : std::uint8_t { entropy, all, extras, dense };

// The queries and keys a block works on at a time: `small` fits into 99 KB of shared memory, which every GPU since
// sm_80 has. `wide` is the only one for heads wider than 128.
enum class BackwardTile : std::uint8_t { large, small, wide };

struct BackwardTileSize {
  int queries, keys, shared_bytes;
};

constexpr int kBackwardWarps = 8, kBackwardThreads = 32 * kBackwardWarps;

// What a kernel reads per row, in units of log 2 and divided by z = e^(L - m), a3 by z^2 (RowTerms).
struct alignas(16) PackedRow {
  float m, base, a1, gate;
};
struct alignas(16) HigherTerms {
  float mean, a2, a3, unused;
};
constexpr int kBackwardRowBytes = sizeof(PackedRow) + sizeof(HigherTerms) + 2 * sizeof(float);  // two scales

// The compiled widths of queries and keys, and of values. Wide heads need not fill theirs.
constexpr int backward_width(std::int64_t d, std::int64_t d_v) {
  if (d <= 128 && d_v <= 128) return static_cast<int>(d);
  return d <= 192 && d_v <= 128 ? 192 : 256;
}
constexpr int backward_value_width(int width) { return width == 192 ? 128 : width; }

// Keys, values, two blocks of queries, one or two of output gradients, weights and score gradients, all 16-bit; the
// queries' row numbers and a few numbers for the block.
constexpr BackwardTileSize backward_tile_size(int width, BackwardTile tile) {
  const bool large = tile == BackwardTile::large, two_outputs = tile != BackwardTile::small || width == 64;
  const int queries = width == 64 && large ? 128 : 64;
  const int keys = tile != BackwardTile::wide && (width == 64 || large) ? 128 : 64;
  const int numbers =
      (keys + 2 * queries) * width + (keys + (two_outputs ? 2 : 1) * queries) * backward_value_width(width);
  return {queries, keys, 2 * numbers + 4 * queries * keys + kBackwardRowBytes * queries + 64};
}

// Where the parts of the workspace are; null: not needed. Also constants of the problem in units of log 2, which
// kernels read as parameters without using a register.
struct BackwardWorkspace {
  float scale = 0, soft_cap = 0;
  float* products = nullptr;  // G, [batch, heads, blocks of queries] tiles, in fragment order
  float* slopes = nullptr;    // [heads, batch, blocks of keys]
  unsigned* turns = nullptr;  // key blocks started; then key blocks whose warps have added to G: [tiles of G, warps]
  PackedRow* rows = nullptr;  // [batch, heads, n_q]
  HigherTerms* higher = nullptr;
};

template <ElementType type, int d, BackwardTerms terms, BackwardTile tile>
cudaError_t launch_backward(const BackwardProblem& problem, const BackwardWorkspace& workspace, cudaStream_t stream);

// Fills the rows of the workspace from the arrays of the problem.
cudaError_t pack_rows(const BackwardProblem& problem, const BackwardWorkspace& workspace, cudaStream_t stream);

// Computes the gradients of query and lambda from G, and the gradient of the slopes from the blocks' partial sums.
cudaError_t finish_backward(const BackwardProblem& problem, const BackwardWorkspace& workspace, BackwardTile tile,
                            cudaStream_t stream);

// backward() with an explicit tile.
std::size_t backward_workspace(const BackwardProblem& problem, BackwardTile tile);
cudaError_t backward(const BackwardProblem& problem, BackwardTile tile, cudaStream_t stream);

}  // namespace isentropic::cuda
