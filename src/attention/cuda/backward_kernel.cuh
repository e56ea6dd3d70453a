// The fused backward pass on tensor cores: a block of keys against the blocks of queries that see it.
//
// Eight warps hold the gradients of the block's keys and values in registers, for all heads that share them, so nothing
// is added to these from outside. For each block of queries S = Q K^T and dP = dO V^T are made in registers; weights P
// and score gradients dx go through shared memory, rounded, into dV += P^T dO, G += dx K (in memory: other blocks of
// keys add to it too) and dK += dx^T Q. Meanwhile the next queries and output gradients travel into shared memory.
#pragma once

#include "attention/cuda/backward_dense.cuh"
#include "attention/cuda/backward_finite.cuh"
#include "attention/cuda/backward_order.cuh"
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
  using Scores = QueryTiles<kQueries, kKeys>;
  using Products = QueryTiles<kQueries, kD>;
  using ScoreTile = float[2][Scores::kColumnTiles][4];
  using Terms = RowTerms<Shape::kTerms>;

  __device__ BackwardBlock(const BackwardProblem& problem, const BackwardWorkspace& workspace_, unsigned char* shared_)
      : in(problem),
        p(problem.problem),
        workspace(workspace_),
        numbers(reinterpret_cast<float*>(shared_ + Shape::kConstantsAt)),
        sums_of_warps(reinterpret_cast<float*>(shared_ + Shape::kSumsAt)),
        shared(shared_address(shared_)),
        order(problem.problem, workspace.turns, reinterpret_cast<int*>(shared_ + Shape::kSumsAt)) {}

  __device__ void run() {
    clear(key_gradient);
    clear(value_gradient);
    const int turns = order.turns();
    if (threadIdx.x == 0) store_shared(shared + Shape::kLeakAt, turns);
    QueryBlock here = order.first();
    if (turns > 0) copy_keys();
    copy_queries(here, 0, turns > 0);
    copy_output_gradients(here, 0, turns > 0);
    if (turns > 0) numbers.copy(in, order.b, here.h, here.i0(), 0);
    for (int turn = 0; turn < turns; ++turn) {
      const QueryBlock following = order.after(here);
      const bool more = turn + 1 < turns;
      const int buffer = turn % 2, next_buffer = 1 - buffer;
      arrive();
      copy_queries(following, next_buffer, more);
      if constexpr (Shape::kOutputBuffers == 2) copy_output_gradients(following, next_buffer, more);
      differentiate(here, buffer, turn);
      __syncthreads();
      if (may_leak(turn)) keep_what_is_finite(buffer);
      if (more) numbers.copy(in, order.b, following.h, following.i0(), next_buffer);
      if (in.gradients.value) add_to_values(buffer);
      if constexpr (Shape::kOutputBuffers == 1) {
        __syncthreads();
        copy_output_gradients(following, 0, more);
      }
      if (workspace.products) add_to_products(here);
      if (in.gradients.key) add_to_keys(buffer);
      if (workspace.turns) order.let_next_add(here);
      if (Shape::kTerms >= BackwardTerms::extras && workspace.slopes && (!more || following.h != here.h))
        write_slope(here.h);
      if (more && may_leak(turn)) {
        __syncthreads();
        copy<kKeys, kD>(shared, p.key, p.key_stride, order.kv_head, order.j0, p.n_k, p.d);
      }
      here = following;
    }
    if (in.gradients.key)
      write(in.gradients.key, in.gradients.key_stride, key_gradient, p.d,
            p.scales ? rsqrtf(kD) : static_cast<float>(p.scale));
    if (in.gradients.value) write(in.gradients.value, in.gradients.value_stride, value_gradient, p.d_v, 1.0f);
  }

 private:
  // Of gradients of keys and values: a quarter of the keys, half of the width.
  static constexpr int kOwnKeys = kKeys / 4, kKeyTiles = kOwnKeys / 16;
  template <int kWidth>
  using KeySums = float[kKeyTiles][kWidth / 16][4];

  __device__ static int lane() { return threadIdx.x % 32; }
  __device__ static int warp() { return threadIdx.x / 32; }
  __device__ std::uint32_t queries(int buffer) const {
    return shared + Shape::kQueriesAt + buffer * Shape::kQueryBytes;
  }
  __device__ std::uint32_t output_gradients(int buffer) const {
    return shared + Shape::kOutputsAt + (Shape::kOutputBuffers == 2 ? buffer * Shape::kOutputBytes : 0);
  }

  // ---- Copies ----

  __device__ static void arrive() {
    commit_copies();
    wait_for_copies<0>();
    __syncthreads();
  }

  template <int kRows, int kWidth>
  __device__ void copy(std::uint32_t to, const void* from, const Strides& stride, int head, std::int64_t first,
                       std::int64_t n, std::int64_t width) {
    const void* present = from ? from : p.query;  // zeros where there is nothing to read
    copy_rows<kWidth, kRows, kBackwardThreads>(
        to, static_cast<const E*>(present) + order.b * stride.batch + head * stride.head, stride.row, first,
        from ? n : 0, Shape::kWide ? static_cast<int>(width) : kWidth);
  }

  // Keys that no row sees are zeros: a weight of 0 would not hide what they hold.
  __device__ void copy_keys() {
    copy<kKeys, kD>(shared, p.key, p.key_stride, order.kv_head, order.j0, order.seen_keys, p.d);
    copy<kKeys, kValueD>(shared + Shape::kValuesAt, p.value, p.value_stride, order.kv_head, order.j0, order.seen_keys,
                         p.d_v);
  }
  __device__ void copy_queries(const QueryBlock& block, int buffer, bool any) {
    if (any) copy<kQueries, kD>(queries(buffer), p.query, p.query_stride, block.h, block.i0(), p.n_q, p.d);
  }
  __device__ void copy_output_gradients(const QueryBlock& block, int buffer, bool any) {
    if (any)
      copy<kQueries, kValueD>(output_gradients(buffer), in.output_gradient, in.output_gradient_stride, block.h,
                              block.i0(), p.n_q, p.d_v);
  }

  // ---- Weights and score gradients ----

  // sums = rows columns^T, of blocks of queries and of keys.
  template <int kWidth>
  __device__ static void multiply(ScoreTile& sums, std::uint32_t rows, std::uint32_t columns) {
    const std::uint32_t row = rows + chunk_offset<kWidth>(Scores::first_row() + lane() % 16, lane() / 16);
    const std::uint32_t column =
        columns + chunk_offset<kWidth>(Scores::first_column() + lane() % 8 + lane() / 16 * 8, lane() / 8 % 2);
    clear(sums);
    multiply_tiles<E, kWidth / 16>(
        sums,
        [&](std::uint32_t(&to)[4], int step, int t) {
          load_fragments(to, chunks_on<kWidth>(row, step) + t * 16 * kWidth * 2);
        },
        [&](std::uint32_t(&to)[4], int step, int pair) {
          load_fragments(to, chunks_on<kWidth>(column, step) + pair * 16 * kWidth * 2);
        });
  }

  __device__ void differentiate(const QueryBlock& block, int buffer, int turn) {
    const bool whole = Shape::kTerms != BackwardTerms::dense && order.sees_all(block);
    ScoreTile scores, products;
    multiply<kD>(scores, queries(buffer), shared);
    multiply<kValueD>(products, output_gradients(buffer), shared + Shape::kValuesAt);
    if (!whole && !is_finite(scores, products, buffer)) store_shared(shared + Shape::kLeakAt, turn);
#pragma unroll
    for (int t = 0; t < 2; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = Scores::row(t, half);
        const std::int64_t i = block.i0() + row;
        if constexpr (Shape::kTerms == BackwardTerms::dense) {
          const DenseRow dense(p, order.b, block.h, i);
          differentiate_row(scores[t], products[t], half, row, terms_of(block, buffer, row), dense);
        } else if (whole) {
          differentiate_row(scores[t], products[t], half, row, terms_of(block, buffer, row), [](int) { return true; });
        } else {
          const RowSpans seen = i < p.n_q ? spans_of(p, order.b, i) : RowSpans{0, 0, 0, 0};
          differentiate_row(scores[t], products[t], half, row, terms_of(block, buffer, row), [&](int j) {
            return (j >= seen.begin && j < seen.end) || (j >= seen.prefix_begin && j < seen.prefix_end);
          });
        }
      }
  }

  // Whether some row may not see a key that is not finite, or be such a row itself: the last turn of which that was so.
  __device__ bool may_leak(int turn) const {
    return load_shared(shared + Shape::kLeakAt) == static_cast<std::uint32_t>(turn);
  }

  // Of queries and keys each reaches a score of this thread or another, as output gradients do their products. Values
  // need no look: they are in no sum over keys or rows.
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
        if (p.scales) zero = fmaf(0.0f, numbers.at(RowArray::scale, Scores::row(t, half), buffer), zero);
      }
    return zero == 0;
  }

  // Numbers of keys, queries, output gradients and scales that are not finite become 0. Rows that see such a key or
  // have such a query have score gradients that are NaN; weights become NaN where the output gradient was not finite.
  __device__ void keep_what_is_finite(int buffer) const {
    const auto ignore = [](int) {};
    zero_what_is_not_finite<E, kKeys * kD>(shared, ignore);
    zero_what_is_not_finite<E, kQueries * kD>(queries(buffer), ignore);
    zero_what_is_not_finite<E, kQueries * kValueD>(output_gradients(buffer), [&](int pair) {
      const std::uint32_t weights = shared + Shape::kWeightsAt + pair / (kValueD / 2) * kKeys * 2;
#pragma unroll 1
      for (int at = 0; at < kKeys * 2; at += 4) store_shared(weights + at, nan_unless_zero(load_shared(weights + at)));
    });
    float* const scale = numbers.scales(buffer);
    if (p.scales && threadIdx.x < kQueries && !isfinite(scale[threadIdx.x])) scale[threadIdx.x] = 0;
    __syncthreads();
  }

  __device__ Terms terms_of(const QueryBlock& block, int buffer, int row) const {
    std::int64_t position = 0;
    if constexpr (Shape::kTerms >= BackwardTerms::extras)
      position = position_of(p, order.b, min(block.i0() + row, p.n_q - 1));
    return Terms(
        in, [&](RowArray array) { return numbers.at(array, row, buffer); }, block.h, position);
  }

  // Weights and score gradients of a row's keys that this lane holds, rounded, into shared memory.
  template <class Seen>
  __device__ void differentiate_row(const float (&scores)[Scores::kColumnTiles][4],
                                    const float (&products)[Scores::kColumnTiles][4], int half, int row,
                                    const Terms& terms, Seen seen) {
    const std::uint32_t to =
        shared + Shape::kWeightsAt + lane() % 4 * 4 + chunk_offset<kKeys>(row, Scores::first_column() / 8);
#pragma unroll
    for (int tile = 0; tile < Scores::kColumnTiles; ++tile) {
      ScoreGradient found[2];
      float factor[2] = {1, 1};
      if constexpr (Shape::kTerms == BackwardTerms::dense) {
        const auto dropout = seen.dropout(static_cast<int>(order.j0) + Scores::column(tile));
        factor[0] = dropout.apply(0, 1.0f), factor[1] = dropout.apply(1, 1.0f);
      }
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int j = static_cast<int>(order.j0) + Scores::column(tile) + e;
        const float score = scores[tile][2 * half + e], product = products[tile][2 * half + e];
        if constexpr (Shape::kTerms == BackwardTerms::dense) {
          const bool is_seen = seen(j);
          found[e] = terms.gradient(score, product, is_seen, j, is_seen ? seen.added(j) : 0.0f, factor[e]);
        } else {
          found[e] = terms.gradient(score, product, seen(j), j);
        }
        if constexpr (Shape::kTerms >= BackwardTerms::extras) slope_sum += found[e].slope;
      }
      const std::uint32_t place = to ^ (tile * 16);
      store_shared(place, pack<E>(found[0].weight, found[1].weight));
      store_shared(place + Shape::kScoreBytes, pack<E>(found[0].gradient, found[1].gradient));
    }
  }

  // ---- Gradients ----

  // Of a tile of sums over rows, the first that this lane holds.
  template <int kWidth>
  __device__ static int own_column(int tile) {
    if constexpr (Shape::kWide) return tile / 4 * 64 + warp() / 4 * 32 + tile % 4 * 8 + lane() % 4 * 2;
    return warp() / 4 * (kWidth / 2) + tile * 8 + lane() % 4 * 2;
  }

  // sums += left^T right, of P or dx and a block of queries; change(fragments, step) may scale the left side.
  template <int kWidth, class Change>
  __device__ static void multiply_transposed(KeySums<kWidth>& sums, std::uint32_t left, std::uint32_t right,
                                             Change change) {
    const std::uint32_t key =
        (left + chunk_offset<kKeys>(lane() % 8 + lane() / 16 * 8, lane() / 8 % 2)) ^ (warp() % 4 * kOwnKeys * 2);
    const std::uint32_t column =
        (right + chunk_offset<kWidth>(lane() % 16, lane() / 16)) ^ (warp() / 4 * (Shape::kWide ? 64 : kWidth));
    multiply_tiles<E, kQueries / 16>(
        sums,
        [&](std::uint32_t(&to)[4], int step, int t) {
          load_fragments_transposed(to, (key ^ (t * 32)) + step * 16 * kKeys * 2);
          change(to, step);
        },
        [&](std::uint32_t(&to)[4], int step, int pair) {
          const std::uint32_t place = Shape::kWide ? (column ^ (pair % 2 * 32)) + pair / 2 * 128 : column ^ (pair * 32);
          load_fragments_transposed(to, place + step * 16 * kWidth * 2);
        });
  }

  __device__ void add_to_values(int buffer) {
    multiply_transposed<kValueD>(value_gradient, shared + Shape::kWeightsAt, output_gradients(buffer),
                                 [](std::uint32_t(&)[4], int) {});
  }

  // Scales of rows join dx here, in units of 1 / sqrt d that keep its size.
  __device__ void add_to_keys(int buffer) {
    const float* scale = numbers.scales(buffer) + lane() % 4 * 2;
    multiply_transposed<kD>(key_gradient, shared + Shape::kGradientsAt, queries(buffer),
                            [&](std::uint32_t(&to)[4], int step) {
                              if (!p.scales) return;
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
    const std::uint32_t row =
        shared + Shape::kGradientsAt + chunk_offset<kKeys>(Products::first_row() + lane() % 16, lane() / 16);
    const std::uint32_t column = (shared + chunk_offset<kD>(lane() % 16, lane() / 16)) ^
                                 (Shape::kWide ? warp() % 4 * 32 : Products::first_column() * 2);
    clear(sums);
    multiply_tiles<E, kKeys / 16>(
        sums,
        [&](std::uint32_t(&to)[4], int step, int t) { load_fragments(to, (row ^ (step * 32)) + t * 16 * kKeys * 2); },
        [&](std::uint32_t(&to)[4], int step, int pair) {
          const std::uint32_t place = Shape::kWide ? column + pair * 128 : column ^ (pair * 32);
          load_fragments_transposed(to, place + step * 16 * kD * 2);
        });
    if (workspace.turns) order.wait_to_add(block);
    using Tile = ProductTile<kQueries, kD>;
    const Tile tile_of_products(workspace.products + order.product_tile(block) * Tile::kNumbers);
#pragma unroll
    for (int t = 0; t < 2; ++t)
#pragma unroll
      for (int tile = 0; tile < Products::kColumnTiles; ++tile) tile_of_products.add(t, tile, sums[t][tile]);
  }

  // What this block of keys adds to the gradient of a head's slope.
  __device__ void write_slope(int h) {
    float sum = slope_sum;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    __syncthreads();
    if (lane() == 0) sums_of_warps[warp()] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int other = 1; other < kBackwardThreads / 32; ++other) sum += sums_of_warps[other];
      workspace.slopes[(h * p.batch + order.b) * order.key_blocks + order.key_block()] = sum;
    }
    slope_sum = 0;
  }

  template <int kColumnTiles>
  __device__ void write(void* to, const Strides& stride, const float (&sums)[kKeyTiles][kColumnTiles][4],
                        std::int64_t width, float factor) const {
    E* head = static_cast<E*>(to) + order.b * stride.batch + order.kv_head * stride.head;
#pragma unroll
    for (int t = 0; t < kKeyTiles; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const std::int64_t j = order.j0 + warp() % 4 * kOwnKeys + t * 16 + half * 8 + lane() / 4;
        if (j >= p.n_k) continue;
        E* row = head + j * stride.row;
#pragma unroll
        for (int tile = 0; tile < kColumnTiles; ++tile) {
          const int column = own_column<kColumnTiles * 16>(tile);
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
  float slope_sum = 0;
  KeySums<kD> key_gradient;
  KeySums<kValueD> value_gradient;
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
