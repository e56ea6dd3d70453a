// Key mass on tensor cores: a block of keys against the blocks of queries that see it, as in the backward pass.
//
// Scores are computed transposed, K Q^T: a lane then holds the scores of only a few keys, and their sums over all
// queries stay in its registers. The records are finished, so a weight is 2^(score - L), in units of log 2, with
// nothing to rescale.
#pragma once

#include <type_traits>

#include "attention/cuda/backward_order.cuh"
#include "attention/cuda/key_mass_launch.hpp"
#include "attention/cuda/running_softmax.cuh"
#include "attention/cuda/thread_block.cuh"

namespace isentropic::cuda {

template <ElementType type, int kWidth_, bool kExtras_>
struct KeyMassShape {
  using E = std::conditional_t<type == ElementType::bfloat16, __nv_bfloat16, __half>;
  static constexpr int kWidth = kWidth_;
  static constexpr bool kExtras = kExtras_;
  static constexpr int kWarps = 4, kThreads = 32 * kWarps;
  static constexpr int kKeyTiles = 2;  // 16-key tiles per warp
  static constexpr int kKeys = kWarps * kKeyTiles * 16, kQueries = 64, kQueryTiles = kQueries / 8;
  // Shared memory: the keys, then two buffers of everything per block of queries.
  static constexpr std::uint32_t kQueryBytes = kQueries * kRowBytes<kWidth>;
  static constexpr std::uint32_t kQueriesAt = kKeys * kRowBytes<kWidth>;
  static constexpr std::uint32_t kNumbersAt = kQueriesAt + 2 * kQueryBytes;
  static constexpr std::uint32_t kSpansAt = kNumbersAt + 2 * kQueries * 2 * sizeof(float);
  static constexpr std::uint32_t kPositionsAt = kSpansAt + 2 * kQueries * sizeof(RowSpans);
  static constexpr int kBytes = kPositionsAt + 2 * kQueries * sizeof(int);
};

// `factor` converts a product to a score in units of log 2.
struct alignas(8) QueryNumbers {
  float factor, log_partition;
};
struct alignas(16) TwoQueryNumbers {
  QueryNumbers query[2];
};

template <class Shape>
class KeyMassBlock {
 public:
  using E = typename Shape::E;
  static constexpr int kKeys = Shape::kKeys, kQueries = Shape::kQueries;
  using Order = BackwardOrder<kQueries, kKeys>;
  using QueryBlock = typename Order::QueryBlock;
  using Scores = Accumulators<Shape::kKeyTiles, Shape::kQueryTiles>;

  __device__ KeyMassBlock(const KeyMassProblem& problem, unsigned char* shared)
      : in(problem),
        p(problem.problem),
        at(shared_address(shared)),
        numbers(reinterpret_cast<QueryNumbers*>(shared + Shape::kNumbersAt)),
        spans(reinterpret_cast<RowSpans*>(shared + Shape::kSpansAt)),
        positions(reinterpret_cast<int*>(shared + Shape::kPositionsAt)),
        order(p, nullptr, nullptr) {}

  __device__ void run() {
    const int turns = order.turns();
    QueryBlock here = order.first();
    if (turns > 0) {
      copy_keys();
      copy_queries(here, 0);
      keep(read_row(here), 0);
    }
    for (int turn = 0; turn < turns; ++turn) {
      const QueryBlock following = order.after(here);
      const bool more = turn + 1 < turns;
      const int buffer = turn % 2;
      commit_copies();
      wait_for_copies<0>();
      __syncthreads();
      QueryRow next = {};
      if (more) {
        copy_queries(following, 1 - buffer);
        next = read_row(following);
      }
      Scores scores;
      multiply_rows<E, Shape::kWidth>(at, warp() * 16 * Shape::kKeyTiles, queries(buffer), scores);
      if (order.sees_all(here))
        add_weights(here.h, buffer, scores, [](int, int) { return true; });
      else
        add_weights(here.h, buffer, scores, [&](int query, int j) { return holds(spans[query], j); });
      if (more) keep(next, 1 - buffer);
      here = following;
    }
    write();
  }

 private:
  // What the scores of a query have in common.
  struct QueryRow {
    QueryNumbers numbers;
    RowSpans spans;
    int position;
  };

  __device__ static int lane() { return threadIdx.x % 32; }
  __device__ static int warp() { return threadIdx.x / 32; }
  __device__ std::uint32_t queries(int buffer) const { return at + Shape::kQueriesAt + buffer * Shape::kQueryBytes; }
  __device__ int key_of(int t, int half) const {
    return static_cast<int>(order.j0) + (warp() * Shape::kKeyTiles + t) * 16 + half * 8 + lane() / 4;
  }

  // Keys that no row sees are zero-filled.
  __device__ void copy_keys() {
    const E* from =
        static_cast<const E*>(p.key) + order.b * p.key_stride.batch + order.kv_head / in.sharers * p.key_stride.head;
    copy_rows<Shape::kWidth, kKeys, Shape::kThreads>(at, from, p.key_stride.row, order.j0, order.seen_keys);
  }
  __device__ void copy_queries(const QueryBlock& block, int buffer) {
    const E* from = static_cast<const E*>(p.query) + order.b * p.query_stride.batch + block.h * p.query_stride.head;
    copy_rows<Shape::kWidth, kQueries, Shape::kThreads>(queries(buffer), from, p.query_stride.row, block.i0(), p.n_q);
  }

  // For the threads that own a query. Rows without keys and rows out of range give no weight.
  __device__ QueryRow read_row(const QueryBlock& block) const {
    QueryRow out = {{0, INFINITY}, {0, 0, 0, 0}, 0};
    const std::int64_t i = block.i0() + threadIdx.x;
    if (threadIdx.x >= kQueries || i >= p.n_q) return out;
    const std::int64_t row = (order.b * p.heads + block.h) * p.n_q + i;
    const float scale = p.scales ? static_cast<const float*>(p.scales)[row] : static_cast<float>(p.scale);
    out.numbers = {kLog2E * scale, log_partition(block.h, in.m[row], in.z[row])};
    out.spans = spans_of(p, order.b, i);
    if constexpr (Shape::kExtras) out.position = static_cast<int>(position_of(p, order.b, i));
    return out;
  }
  __device__ void keep(const QueryRow& row, int buffer) {
    if (threadIdx.x >= kQueries) return;
    const int place = buffer * kQueries + threadIdx.x;
    numbers[place] = row.numbers;
    spans[place] = row.spans;
    if constexpr (Shape::kExtras) positions[place] = row.position;
  }

  // Includes the sink; in units of log 2.
  __device__ float log_partition(int h, float m, float z) const {
    if (z == 0) return INFINITY;
    const float keys = fmaf(m, kLog2E, log2f(z));
    if (!p.sink) return keys;
    const float sink = kLog2E * static_cast<const float*>(p.sink)[h], larger = fmaxf(keys, sink);
    return larger + log2f(exp2_fast(keys - larger) + exp2_fast(sink - larger));
  }

  // Sums a block first: the running sum is much larger than single weights.
  template <class Seen>
  __device__ __forceinline__ void add_weights(int h, int buffer, const Scores& scores, Seen seen) {
    const float cap = kLog2E * static_cast<float>(p.soft_cap);
    const float slope = Shape::kExtras && p.slopes ? kLog2E * static_cast<const float*>(p.slopes)[h] : 0.0f;
    float sums[Shape::kKeyTiles][2] = {};
#pragma unroll
    for (int tile = 0; tile < Shape::kQueryTiles; ++tile) {
      const int first = buffer * kQueries + tile * 8 + lane() % 4 * 2;
      const TwoQueryNumbers both = *reinterpret_cast<const TwoQueryNumbers*>(numbers + first);
#pragma unroll
      for (int e = 0; e < 2; ++e)
#pragma unroll
        for (int t = 0; t < Shape::kKeyTiles; ++t)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const QueryNumbers& query = both.query[e];
            float x = scores[t][tile][2 * half + e];
            if constexpr (Shape::kExtras) {
              x *= query.factor;
              if (cap > 0) x = cap * tanhf(x / cap);
              if (slope != 0) x -= slope * fabsf(static_cast<float>(positions[first + e] - key_of(t, half)));
              x -= query.log_partition;
            } else {
              x = fmaf(x, query.factor, -query.log_partition);
            }
            const float weight = exp2_fast(x);
            sums[t][half] += seen(first + e, key_of(t, half)) ? weight : 0.0f;
          }
    }
#pragma unroll
    for (int t = 0; t < Shape::kKeyTiles; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) mass[t][half] += sums[t][half];
  }

  __device__ void write() const {
    float* to = in.mass + (order.b * p.heads + order.kv_head) * p.n_k;
#pragma unroll
    for (int t = 0; t < Shape::kKeyTiles; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float sum = row_sum(mass[t][half]);
        if (lane() % 4 == 0 && key_of(t, half) < p.n_k) to[key_of(t, half)] = sum;
      }
  }

  const KeyMassProblem& in;
  const Problem& p;
  const std::uint32_t at;
  QueryNumbers* const numbers;
  RowSpans* const spans;
  int* const positions;
  const Order order;
  float mass[Shape::kKeyTiles][2] = {};
};

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 3) key_mass_kernel(const __grid_constant__ KeyMassProblem problem) {
  KeyMassBlock<Shape>(problem, block_memory()).run();
}

template <ElementType type, int d, bool extras>
cudaError_t launch_key_mass(const KeyMassProblem& problem, cudaStream_t stream) {
  using Shape = KeyMassShape<type, d, extras>;
  const Problem& p = problem.problem;
  const std::int64_t blocks = (p.n_k + Shape::kKeys - 1) / Shape::kKeys * p.batch * p.heads;
  return launch_kernel(key_mass_kernel<Shape>, static_cast<unsigned>(blocks), Shape::kThreads, Shape::kBytes, stream,
                       problem);
}

}  // namespace isentropic::cuda
