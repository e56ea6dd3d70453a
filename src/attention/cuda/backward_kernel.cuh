// The fused backward pass on tensor cores: a block of keys against the blocks of queries that see it.
//
// Eight warps hold the gradients of the block's keys and values in registers, for all heads that share them, so no
// other block adds to these. For each block of queries, S = Q K^T and dP = dO V^T are formed in registers; weights P
// and score gradients dx are rounded into shared memory and used in dV += P^T dO, G += dx K (in global memory: other
// blocks of keys add to it too) and dK += dx^T Q. Meanwhile the next queries and output gradients are copied into
// shared memory.
#pragma once

#include "attention/cuda/backward_copies.cuh"
#include "attention/cuda/backward_dense.cuh"
#include "attention/cuda/backward_finite.cuh"
#include "attention/cuda/backward_order.cuh"
#include "attention/cuda/backward_products.cuh"
#include "attention/cuda/backward_row_numbers.cuh"
#include "attention/cuda/backward_rows.cuh"
#include "attention/cuda/backward_shape.cuh"
#include "attention/cuda/backward_tiles.cuh"
#include "attention/cuda/thread_block.cuh"

namespace isentropic::cuda {

template <class Shape>
class BackwardBlock {
 public:
  using E = typename Shape::E;
  static constexpr int kD = Shape::kD, kValueD = Shape::kValueD, kQueries = Shape::kQueries, kKeys = Shape::kKeys;
  using Order = BackwardOrder<kQueries, kKeys>;
  using QueryBlock = typename Order::QueryBlock;
  using Tiles = BackwardProducts<Shape>;
  using Scores = typename Tiles::Scores;
  using Products = typename Tiles::Products;
  using ScoreTile = typename Tiles::ScoreTile;
  using Terms = RowTerms<Shape::kTerms>;

  __device__ BackwardBlock(const BackwardProblem& problem, const BackwardWorkspace& workspace_, unsigned char* shared_)
      : in(problem),
        p(problem.problem),
        workspace(workspace_),
        numbers(shared_ + Shape::kConstantsAt),
        sums_of_warps(reinterpret_cast<float*>(shared_ + Shape::kSumsAt)),
        shared(shared_address(shared_)),
        order(problem.problem, workspace.turns, reinterpret_cast<int*>(shared_ + Shape::kSumsAt)),
        copies(problem, order, shared) {}

  __device__ void run() {
    clear(key_gradient);
    clear(value_gradient);
    const int turns = order.turns();
    if (threadIdx.x == 0) store_shared(shared + Shape::kLeakAt, turns);
    QueryBlock here = order.first();
    if (turns > 0) {
      // Keys that no row sees are zero-filled: a weight of 0 would not mask an Inf or NaN in them.
      copies.copy_keys(order.seen_keys);
      copies.copy_values(order.seen_keys);
      copies.aim_at(here);
      copies.copy_queries(here, 0);
      copies.copy_output_gradients(here, 0);
      numbers.copy(p, workspace, order.b, here.h, here.i0(), 0);
    }
    for (int turn = 0; turn < turns; ++turn) {
      const QueryBlock following = order.after(here);
      const bool more = turn + 1 < turns;
      const int buffer = turn % 2, next_buffer = 1 - buffer;
      copies.arrive();
      if (more) {
        following.h == here.h ? copies.aim_at_next() : copies.aim_at(following);
        copies.copy_queries(following, next_buffer);
        if constexpr (Shape::kOutputBuffers == 2) copies.copy_output_gradients(following, next_buffer);
      }
      differentiate(here, buffer, turn);
      __syncthreads();
      if (may_leak(turn)) keep_what_is_finite(buffer);
      if (more) numbers.copy(p, workspace, order.b, following.h, following.i0(), next_buffer);
      if (in.gradients.value) add_to_values(buffer);
      if constexpr (Shape::kOutputBuffers == 1) {
        __syncthreads();
        if (more) copies.copy_output_gradients(following, 0);
      }
      if (workspace.products) add_to_products(here);
      if (in.gradients.key) add_to_keys(buffer);
      if (workspace.turns) order.let_next_add(here);
      if (Shape::kTerms >= BackwardTerms::extras && workspace.slopes && (!more || following.h != here.h))
        write_slope(here.h);
      if (more && may_leak(turn)) {
        __syncthreads();
        copies.copy_keys(p.n_k);
      }
      here = following;
    }
    if (in.gradients.key)
      write(in.gradients.key, in.gradients.key_stride, key_gradient, p.d,
            p.scales ? rsqrtf(kD) : static_cast<float>(p.scale));
    if (in.gradients.value) write(in.gradients.value, in.gradients.value_stride, value_gradient, p.d_v, 1.0f);
  }

 private:
  __device__ static int lane() { return threadIdx.x % 32; }
  __device__ static int warp() { return threadIdx.x / 32; }
  // ---- Weights and score gradients ----

  __device__ void differentiate(const QueryBlock& block, int buffer, int turn) {
    const bool whole = Shape::kTerms != BackwardTerms::dense && order.sees_all(block);
    ScoreTile scores, products;
    Tiles::template multiply<kD>(scores, copies.queries(buffer), shared);
    Tiles::template multiply<kValueD>(products, copies.output_gradients(buffer), shared + Shape::kValuesAt);
    if (!whole && !is_finite(scores, products, buffer)) store_shared(shared + Shape::kLeakAt, turn);
#pragma unroll
    for (int t = 0; t < 2; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = Scores::row(t, half);
        const Terms terms = terms_of(block, buffer, row);
        if constexpr (Shape::kTerms == BackwardTerms::dense)
          differentiate_row(scores[t], products[t], t, half, terms, DenseRow(p, order.b, block.h, block.i0() + row));
        else if (whole)
          differentiate_row(scores[t], products[t], t, half, terms, SeenByAll());
        else
          differentiate_row(scores[t], products[t], t, half, terms, seen_keys(block, row));
      }
  }

  // Tests whether a row sees a key, by the key's offset from this lane's first column.
  struct SeenByAll {
    __device__ bool operator()(int) const { return true; }
  };
  struct SeenKeys {
    int begin, end, prefix_begin, prefix_end;
    // Bitwise operators: the compiler would turn && and || into branches.
    __device__ bool operator()(int j) const {
      return ((j >= begin) & (j < end)) | ((j >= prefix_begin) & (j < prefix_end));
    }
  };
  __device__ SeenKeys seen_keys(const QueryBlock& block, int row) const {
    const std::int64_t i = block.i0() + row;
    if (i >= p.n_q) return {0, 0, 0, 0};
    const RowSpans seen = spans_of(p, order.b, i);
    const int first = static_cast<int>(order.j0) + Scores::column(0);
    return {seen.begin - first, seen.end - first, seen.prefix_begin - first, seen.prefix_end - first};
  }

  // Whether this turn has a row that may not see a non-finite key or is non-finite itself; kLeakAt holds the last such.
  __device__ bool may_leak(int turn) const {
    return load_shared(shared + Shape::kLeakAt) == static_cast<std::uint32_t>(turn);
  }

  // Every non-finite query or key reaches a score of some thread, and every non-finite output gradient a product.
  // Values need no check: they are in no sum over keys or rows.
  __device__ bool is_finite(const ScoreTile& scores, const ScoreTile& products, int buffer) const {
    float zero = 0;
#pragma unroll
    for (int t = 0; t < 2; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int tile = 0; tile < Scores::kColumnTiles; ++tile)
#pragma unroll
          for (int e = 0; e < 2; ++e) zero = fmaf(0.0f, scores[t][tile][2 * half + e], zero);
        zero = fmaf(0.0f, products[t][0][2 * half], zero);
        if (p.scales) zero = fmaf(0.0f, numbers.scales(buffer)[Scores::row(t, half)], zero);
      }
    return zero == 0;
  }

  // Zeroes non-finite keys, queries, output gradients and scales. Rows that see such a key or have such a query already
  // have NaN score gradients; weights become NaN where the output gradient was not finite.
  __device__ void keep_what_is_finite(int buffer) const {
    const auto ignore = [](int) {};
    zero_what_is_not_finite<E, kKeys * kD>(shared, ignore);
    zero_what_is_not_finite<E, kQueries * kD>(copies.queries(buffer), ignore);
    zero_what_is_not_finite<E, kQueries * kValueD>(copies.output_gradients(buffer), [&](int pair) {
      const std::uint32_t weights = shared + Shape::kWeightsAt + pair / (kValueD / 2) * kKeys * 2;
#pragma unroll 1
      for (int at = 0; at < kKeys * 2; at += 4) store_shared(weights + at, nan_unless_zero(load_shared(weights + at)));
    });
    float* const scale = numbers.scales(buffer);
    if (p.scales && threadIdx.x < kQueries && !isfinite(scale[threadIdx.x])) scale[threadIdx.x] = 0;
    __syncthreads();
  }

  __device__ Terms terms_of(const QueryBlock& block, int buffer, int row) const {
    Terms out;
    out.row = numbers.row(row);
    out.lambda = p.scales ? Terms::kLog2E * numbers.scales(buffer)[row] : workspace.scale;
    if constexpr (Terms::kAll) out.higher = numbers.higher(row);
    if constexpr (Terms::kExtras) {
      out.cap = workspace.soft_cap;
      out.slope = p.slopes ? Terms::kLog2E * static_cast<const float*>(p.slopes)[block.h] : 0.0f;
      out.position = static_cast<float>(position_of(p, order.b, min(block.i0() + row, p.n_q - 1)));
    }
    return out;
  }

  // Writes the weights and score gradients of this lane's keys of a row, rounded, to shared memory.
  template <class Seen>
  __device__ void differentiate_row(const float (&scores)[Scores::kColumnTiles][4],
                                    const float (&products)[Scores::kColumnTiles][4], int t, int half,
                                    const Terms& terms, const Seen& seen) {
    constexpr int kAtOnce = Scores::kColumnTiles % 4 == 0 ? 4 : 2;
    const std::uint32_t to =
        shared + Shape::kWeightsAt +
        place_to_store<kKeys, kAtOnce>(Scores::first_row() + t * 16 + half * 8, Scores::first_column() / 8);
#pragma unroll
    for (int first = 0; first < Scores::kColumnTiles; first += kAtOnce) {
      std::uint32_t weights[kAtOnce], gradients[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int tile = first + i;
        ScoreGradient found[2];
        differentiate_pair(&scores[tile][2 * half], &products[tile][2 * half], tile, terms, seen, found);
        weights[i] = pack<E>(found[0].weight, found[1].weight);
        gradients[i] = pack<E>(found[0].gradient, found[1].gradient);
      }
      store_fragments(to ^ (first * 16), weights);
      store_fragments((to ^ (first * 16)) + Shape::kScoreBytes, gradients);
    }
  }

  // Two neighbouring keys of a row.
  template <class Seen>
  __device__ void differentiate_pair(const float* scores, const float* products, int tile, const Terms& terms,
                                     const Seen& seen, ScoreGradient (&found)[2]) {
    const int first = static_cast<int>(order.j0) + Scores::column(tile);
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if constexpr (Shape::kTerms == BackwardTerms::dense) {
        const bool is_seen = seen(first + e);
        const float factor = seen.dropout(first).apply(e, 1.0f);
        found[e] =
            terms.gradient(scores[e], products[e], is_seen, first + e, is_seen ? seen.added(first + e) : 0.0f, factor);
      } else {
        found[e] = terms.gradient(scores[e], products[e], seen(tile * 8 + e), first + e);
      }
      if constexpr (Shape::kTerms >= BackwardTerms::extras) slope_sum += found[e].slope;
    }
  }

  // ---- Gradients ----

  __device__ void add_to_values(int buffer) {
    Tiles::template multiply_transposed<kValueD>(value_gradient, shared + Shape::kWeightsAt,
                                                 copies.output_gradients(buffer), [](std::uint32_t(&)[4], int) {});
  }

  // Row scales multiply dx here, in units of 1 / sqrt d so that its magnitude is preserved.
  __device__ void add_to_keys(int buffer) {
    const std::uint32_t left = shared + Shape::kGradientsAt, right = copies.queries(buffer);
    if (!p.scales)
      return Tiles::template multiply_transposed<kD>(key_gradient, left, right, [](std::uint32_t(&)[4], int) {});
    const float* scale = numbers.scales(buffer) + lane() % 4 * 2;
    Tiles::template multiply_transposed<kD>(key_gradient, left, right, [&](std::uint32_t(&to)[4], int step) {
      const float root = sqrtf(kD);
      const float* here = scale + step * 16;
      const std::uint32_t low = pack<E>(here[0] * root, here[1] * root);
      const std::uint32_t high = pack<E>(here[8] * root, here[9] * root);
      to[0] = multiply_pair<E>(to[0], low), to[1] = multiply_pair<E>(to[1], low);
      to[2] = multiply_pair<E>(to[2], high), to[3] = multiply_pair<E>(to[3], high);
    });
  }

  __device__ void add_to_products(const QueryBlock& block) {
    float sums[2][Products::kColumnTiles][4];
    const unsigned glanced = workspace.turns ? order.glance(block) : 0;
    Tiles::multiply_gradients(sums, shared + Shape::kGradientsAt, shared);
    if (workspace.turns) order.wait_to_add(block, glanced);
    using Tile = ProductTile<kQueries, kD>;
    const Tile tile_of_products(workspace.products + order.product_tile(block) * Tile::kNumbers);
#pragma unroll
    for (int t = 0; t < 2; ++t)
#pragma unroll
      for (int tile = 0; tile < Products::kColumnTiles; ++tile) tile_of_products.add(t, tile, sums[t][tile]);
  }

  // Writes this key block's contribution to the gradient of a head's slope.
  __device__ void write_slope(int h) {
    float sum = slope_sum;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    __syncthreads();
    if (lane() == 0) sums_of_warps[warp()] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int other = 1; other < kBackwardWarps; ++other) sum += sums_of_warps[other];
      workspace.slopes[(h * p.batch + order.b) * order.key_blocks + order.key_block()] = sum;
    }
    slope_sum = 0;
  }

  template <int kColumnTiles>
  __device__ void write(void* to, const Strides& stride, const float (&sums)[Tiles::kKeyTiles][kColumnTiles][4],
                        std::int64_t width, float factor) const {
    E* head = static_cast<E*>(to) + order.b * stride.batch + order.kv_head * stride.head;
#pragma unroll
    for (int t = 0; t < Tiles::kKeyTiles; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const std::int64_t j = order.j0 + warp() % 4 * Tiles::kOwnKeys + t * 16 + half * 8 + lane() / 4;
        if (j >= p.n_k) continue;
        E* row = head + j * stride.row;
#pragma unroll
        for (int tile = 0; tile < kColumnTiles; ++tile) {
          const int column = Tiles::template own_column<kColumnTiles * 16>(tile);
          if (Shape::kWide && column >= width) continue;
          *reinterpret_cast<std::uint32_t*>(row + column) =
              pack<E>(sums[t][tile][2 * half] * factor, sums[t][tile][2 * half + 1] * factor);
        }
      }
  }

  const BackwardProblem& in;
  const Problem& p;
  const BackwardWorkspace& workspace;
  const RowNumbers<kQueries, Shape::kTerms> numbers;
  float* const sums_of_warps;
  const std::uint32_t shared;
  Order order;
  BackwardCopies<Shape> copies;
  float slope_sum = 0;
  typename Tiles::template KeySums<kD> key_gradient;
  typename Tiles::template KeySums<kValueD> value_gradient;
};

template <class Shape>
__global__ void __launch_bounds__(kBackwardThreads, 1)
    backward_kernel(const __grid_constant__ BackwardProblem problem,
                    const __grid_constant__ BackwardWorkspace workspace) {
  BackwardBlock<Shape>(problem, workspace, block_memory()).run();
}

template <ElementType type, int d, BackwardTerms terms, BackwardTile tile>
cudaError_t launch_backward(const BackwardProblem& problem, const BackwardWorkspace& workspace, cudaStream_t stream) {
  using Shape = BackwardShape<type, d, terms, tile>;
  constexpr int kBytes = Shape::kSize.shared_bytes;
  const Problem& p = problem.problem;
  const std::int64_t blocks = (p.n_k + Shape::kKeys - 1) / Shape::kKeys * p.batch * p.kv_heads;
  return launch_kernel(backward_kernel<Shape>, static_cast<unsigned>(blocks), kBackwardThreads, kBytes, stream, problem,
                       workspace);
}

}  // namespace isentropic::cuda
