// The kernels of the backward pass, each compiled from a file of its own (backward_instance.cu.in), and what their
// launcher chooses: terms, tiles, the parts of the workspace.
#pragma once

#include "attention/cuda/backward.hpp"

namespace isentropic::cuda {

// Which terms a kernel has: a1; a1, a2 and a3; these with soft cap and slopes; these with what is read or drawn for
// each score: masks, biases, tests of keys, dropout.
enum class BackwardTerms : std::uint8_t { entropy, all, extras, dense };

// Of queries and keys that a block works on at a time: `small` fits into 99 KB of shared memory, which every GPU since
// sm_80 has. `wide` is for heads of more than 128 numbers, which no other takes.
enum class BackwardTile : std::uint8_t { large, small, wide };

struct BackwardTileSize {
  int queries, keys, shared_bytes;
};

constexpr int kBackwardWarps = 8, kBackwardThreads = 32 * kBackwardWarps;

// What a kernel reads of a row, in units of log 2 and divided by z = e^(L - m), a3 by z^2 (RowTerms).
struct alignas(16) PackedRow {
  float m, base, a1, gate;
};
struct alignas(16) HigherTerms {
  float mean, a2, a3, unused;
};
constexpr int kBackwardRowBytes = sizeof(PackedRow) + sizeof(HigherTerms) + 2 * sizeof(float);  // with two scales

// Of the queries and keys of a kernel, and of its values. Wide heads need not fill theirs.
constexpr int backward_width(std::int64_t d, std::int64_t d_v) {
  if (d <= 128 && d_v <= 128) return static_cast<int>(d);
  return d <= 192 && d_v <= 128 ? 192 : 256;
}
constexpr int backward_value_width(int width) { return width == 192 ? 128 : width; }

// Keys, values, two blocks of queries, one or two of output gradients, weights and score gradients, 16 bits each; the
// numbers of the queries and a few for the block.
constexpr BackwardTileSize backward_tile_size(int width, BackwardTile tile) {
  const bool large = tile == BackwardTile::large, two_outputs = tile != BackwardTile::small || width == 64;
  const int queries = width == 64 && large ? 128 : 64;
  const int keys = tile != BackwardTile::wide && (width == 64 || large) ? 128 : 64;
  const int numbers =
      (keys + 2 * queries) * width + (keys + (two_outputs ? 2 : 1) * queries) * backward_value_width(width);
  return {queries, keys, 2 * numbers + 4 * queries * keys + kBackwardRowBytes * queries + 64};
}

// Where parts of the workspace lie; null: not needed. Numbers of the problem in units of log 2, which kernels then
// read without a register.
struct BackwardWorkspace {
  float scale = 0, soft_cap = 0;
  float* products = nullptr;  // G, [batch, heads, blocks of queries] tiles, in the order of fragments
  float* slopes = nullptr;    // [heads, batch, blocks of keys]
  unsigned* turns =
      nullptr;  // blocks of keys that have begun; then those whose warps have added to G: [tiles of G, warps]
  PackedRow* rows = nullptr;  // [batch, heads, n_q]
  HigherTerms* higher = nullptr;
};

template <ElementType type, int d, BackwardTerms terms, BackwardTile tile>
cudaError_t launch_backward(const BackwardProblem& problem, const BackwardWorkspace& workspace, cudaStream_t stream);

// The rows of the workspace, from the arrays of the problem.
cudaError_t pack_rows(const BackwardProblem& problem, const BackwardWorkspace& workspace, cudaStream_t stream);

// From G to the gradients of query and lambda; from the parts of blocks to the gradient of the slopes.
cudaError_t finish_backward(const BackwardProblem& problem, const BackwardWorkspace& workspace, BackwardTile tile,
                            cudaStream_t stream);

// backward() with a tile of the caller's choice.
std::size_t backward_workspace(const BackwardProblem& problem, BackwardTile tile);
cudaError_t backward(const BackwardProblem& problem, BackwardTile tile, cudaStream_t stream);

}  // namespace isentropic::cuda
