// Chooses the kernel and the tile of the backward pass, and divides its workspace.
#include "attention/cuda/backward.hpp"

#include "attention/cuda/launch_backward.hpp"
#include "attention/cuda/tensor_cores.hpp"

namespace isentropic::cuda {
namespace {

std::int64_t tiles_over(std::int64_t n, int size) { return (n + size - 1) / size; }

// Whether anything is read or drawn for each score.
bool reads_or_draws(const Problem& p) { return has_dense_terms(p) || p.dropout > 0; }
bool has_cap_or_slopes(const Problem& p) { return p.soft_cap > 0 || p.slopes; }
// Whether the kernel has more terms than a1.
bool has_higher_terms(const BackwardProblem& in, BackwardTile tile) {
  return in.rows.a2 || in.rows.a3 || tile != BackwardTile::large;
}

// Sizes in bytes; each part begins at a multiple of 256.
struct BackwardWorkspaceSizes {
  std::size_t products = 0, slopes = 0, turns = 0;  // these begin as zeros
  std::size_t rows = 0, higher = 0;

  BackwardWorkspaceSizes(const BackwardProblem& problem, BackwardTile tile) {
    const Problem& p = problem.problem;
    const int width = backward_width(p.d, p.d_v);
    const BackwardTileSize size = backward_tile_size(width, tile);
    const std::int64_t tiles = p.batch * p.heads * tiles_over(p.n_q, size.queries);
    const auto padded = [](std::int64_t numbers) { return static_cast<std::size_t>(numbers * 4 + 255) / 256 * 256; };
    if (problem.gradients.query || problem.gradients.lambda) {
      products = padded(tiles * size.queries * width);
      if (problem.deterministic) turns = padded(1 + tiles * kBackwardWarps);
    }
    if (problem.gradients.slopes) slopes = padded(p.heads * p.batch * tiles_over(p.n_k, size.keys));
    rows = padded(p.rows() * 4);
    if (has_higher_terms(problem, tile)) higher = padded(p.rows() * 4);
  }
  std::size_t zeros() const { return products + slopes + turns; }
  std::size_t all() const { return zeros() + rows + higher; }
};

BackwardWorkspace divided_workspace(const BackwardProblem& problem, const BackwardWorkspaceSizes& sizes) {
  auto* const start = static_cast<std::byte*>(problem.workspace);
  const auto part = [&](std::size_t from, std::size_t bytes) { return bytes ? start + from : nullptr; };
  constexpr float kLog2E = 1.4426950408889634f;
  BackwardWorkspace out;
  out.scale = kLog2E * static_cast<float>(problem.problem.scale);  // rounded as in the forward pass
  out.soft_cap = kLog2E * static_cast<float>(problem.problem.soft_cap);
  out.products = reinterpret_cast<float*>(part(0, sizes.products));
  out.slopes = reinterpret_cast<float*>(part(sizes.products, sizes.slopes));
  out.turns = reinterpret_cast<unsigned*>(part(sizes.products + sizes.slopes, sizes.turns));
  out.rows = reinterpret_cast<PackedRow*>(part(sizes.zeros(), sizes.rows));
  out.higher = reinterpret_cast<HigherTerms*>(part(sizes.zeros() + sizes.rows, sizes.higher));
  return out;
}

bool is_wide(const Problem& p) { return p.d > 128 || p.d_v > 128; }

// Overrides the requested tile: soft cap, slopes and dense terms leave no registers for a large one.
BackwardTile fitting_tile(const Problem& p, BackwardTile tile) {
  if (is_wide(p)) return BackwardTile::wide;
  return reads_or_draws(p) || has_cap_or_slopes(p) ? BackwardTile::small : tile;
}

template <ElementType type, int d>
cudaError_t launch_with_terms(const BackwardProblem& in, const BackwardWorkspace& workspace, BackwardTile tile,
                              cudaStream_t stream) {
  using Terms = BackwardTerms;
  using Tile = BackwardTile;
  if (reads_or_draws(in.problem)) return launch_backward<type, d, Terms::dense, Tile::small>(in, workspace, stream);
  if (tile == Tile::small) return launch_backward<type, d, Terms::extras, Tile::small>(in, workspace, stream);
  if (in.rows.a2 || in.rows.a3) return launch_backward<type, d, Terms::all, Tile::large>(in, workspace, stream);
  return launch_backward<type, d, Terms::entropy, Tile::large>(in, workspace, stream);
}

template <ElementType type>
cudaError_t launch_with_width(const BackwardProblem& in, const BackwardWorkspace& workspace, BackwardTile tile,
                              cudaStream_t stream) {
  using Terms = BackwardTerms;
  using Tile = BackwardTile;
  switch (backward_width(in.problem.d, in.problem.d_v)) {
    case 64:
      return launch_with_terms<type, 64>(in, workspace, tile, stream);
    case 128:
      return launch_with_terms<type, 128>(in, workspace, tile, stream);
    case 192:
      return launch_backward<type, 192, Terms::extras, Tile::wide>(in, workspace, stream);
    default:
      return launch_backward<type, 256, Terms::extras, Tile::wide>(in, workspace, stream);
  }
}

bool device_has_room(const Problem& p, BackwardTile tile) {
  int device = 0, bytes = 0;
  const bool known = cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess;
  return known && bytes >= backward_tile_size(backward_width(p.d, p.d_v), tile).shared_bytes;
}

// The largest tile that fits on the GPU.
BackwardTile backward_tile_of_device(const Problem& p) {
  if (is_wide(p)) return BackwardTile::wide;
  return device_has_room(p, BackwardTile::large) ? BackwardTile::large : BackwardTile::small;
}

// Heads up to 256 wide, in chunks of 16 bytes.
bool fits_wide_heads(const Problem& p) {
  const auto fits = [](std::int64_t width) { return width > 0 && width <= 256 && width % 8 == 0; };
  return suits_tensor_cores(p) && is_wide(p) && fits(p.d) && fits(p.d_v) && device_has_room(p, BackwardTile::wide) &&
         rows_begin_at(p.query, p.query_stride, p.batch, p.heads, p.n_q, 16) &&
         rows_begin_at(p.key, p.key_stride, p.batch, p.kv_heads, p.n_k, 16) &&
         (!p.value || rows_begin_at(p.value, p.value_stride, p.batch, p.kv_heads, p.n_k, 16));
}

}  // namespace

bool has_backward(const BackwardProblem& problem) {
  const Problem& p = problem.problem;
  const Gradients& to = problem.gradients;
  const auto writes_pairs = [&](const void* data, const Strides& stride, std::int64_t heads, std::int64_t n) {
    return !data || rows_begin_at(data, stride, p.batch, heads, n, 4);
  };
  return ((fits_narrow_heads(p) && p.d_v == p.d) || fits_wide_heads(p)) && !to.bias && !to.relative &&
         (!problem.output_gradient ||
          rows_begin_at(problem.output_gradient, problem.output_gradient_stride, p.batch, p.heads, p.n_q, 16)) &&
         writes_pairs(to.query, to.query_stride, p.heads, p.n_q) &&
         writes_pairs(to.key, to.key_stride, p.kv_heads, p.n_k) &&
         writes_pairs(to.value, to.value_stride, p.kv_heads, p.n_k);
}

std::size_t backward_workspace(const BackwardProblem& problem, BackwardTile tile) {
  return BackwardWorkspaceSizes(problem, fitting_tile(problem.problem, tile)).all();
}

cudaError_t backward(const BackwardProblem& problem, BackwardTile tile, cudaStream_t stream) {
  if (!has_backward(problem)) return cudaErrorInvalidValue;
  tile = fitting_tile(problem.problem, tile);
  const BackwardWorkspaceSizes sizes(problem, tile);
  const BackwardWorkspace workspace = divided_workspace(problem, sizes);
  cudaError_t error = cudaSuccess;
  if (sizes.zeros() > 0) error = cudaMemsetAsync(problem.workspace, 0, sizes.zeros(), stream);
  if (error == cudaSuccess) error = pack_rows(problem, workspace, stream);
  if (error == cudaSuccess)
    error = problem.problem.type == ElementType::bfloat16
                ? launch_with_width<ElementType::bfloat16>(problem, workspace, tile, stream)
                : launch_with_width<ElementType::float16>(problem, workspace, tile, stream);
  return error == cudaSuccess ? finish_backward(problem, workspace, tile, stream) : error;
}

std::size_t backward_workspace(const BackwardProblem& problem) {
  return backward_workspace(problem, backward_tile_of_device(problem.problem));
}

cudaError_t backward(const BackwardProblem& problem, cudaStream_t stream) {
  return backward(problem, backward_tile_of_device(problem.problem), stream);
}

}  // namespace isentropic::cuda
