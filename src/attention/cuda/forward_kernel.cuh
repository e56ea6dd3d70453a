// The fused forward pass on tensor cores: a block of queries against blocks of keys, output and records in registers.
//
// Four warps hold 128 queries, 32 rows each. Scores come out of the products in float32 and stay in registers: they
// become weights 2^t, t = log2(e) lambda r - m, whose sums make the record (with t in units of log 2), and, rounded,
// the left side of the product with the values. While scores are made, values travel into shared memory; while values
// are multiplied, the next keys do.
#pragma once

#include "attention/cuda/launch.hpp"
#include "attention/cuda/tiles.cuh"
#include "attention/cuda/visible_keys.cuh"

namespace isentropic::cuda {

template <ElementType type>
struct Element {
  using T = __nv_bfloat16;
};
template <>
struct Element<ElementType::float16> {
  using T = __half;
};

template <ElementType type, int kD_, MomentSet kMoments_, bool kExtras_>
struct ForwardShape {
  using E = typename Element<type>::T;
  static constexpr int kD = kD_;
  static constexpr MomentSet kMoments = kMoments_;
  static constexpr bool kExtras = kExtras_;
  static constexpr int kWarps = 4, kThreads = 32 * kWarps;
  static constexpr int kRowTiles = 2, kRows = kWarps * kRowTiles * 16;  // of 16 rows each a warp holds
  // Keys of a block, and chains of sums that hide the latency of additions: as many as registers allow.
  static constexpr int kKeys = kD == 64 && kMoments == MomentSet::partition ? 128 : 64;
  static constexpr int kChains = kD == 128 && kMoments == MomentSet::all ? 1 : 2;
  static constexpr int kBytes = (kRows + 2 * kKeys) * kD * 2;
};

// The sums of a row's keys that one lane has seen, of four that share the row.
struct LaneSums {
  float z, u, w, c;
};

template <class Shape>
class ForwardBlock {
 public:
  using E = typename Shape::E;
  static constexpr int kD = Shape::kD, kKeys = Shape::kKeys, kRowTiles = Shape::kRowTiles;
  static constexpr int kScoreTiles = kKeys / 8, kOutputTiles = kD / 8;
  static constexpr bool kEntropy = Shape::kMoments != MomentSet::partition, kAll = Shape::kMoments == MomentSet::all;

  __device__ ForwardBlock(const Problem& problem, const ForwardOutput& output_, std::uint32_t shared)
      : p(problem), out(output_), queries(shared) {
    choose_rows();
    const RowSpans first = spans_of(p, b, i0), last = spans_of(p, b, i0 + Shape::kRows - 1);
    prefix = first.prefix_end;
    seen_by_all_begin = last.begin, seen_by_all_end = first.end;
    band_block = first.begin / kKeys;
    prefix_blocks = (prefix + kKeys - 1) / kKeys;
    end_block = max(prefix_blocks, (last.end + kKeys - 1) / kKeys);
    begin_rows();
  }

  __device__ void run() {
    int block = skip_gap(0);
    copy<Shape::kRows>(queries, p.query, p.query_stride, h, i0, p.n_q);
    copy_keys(block);
    while (block < end_block) {
      arrive();
      copy<kKeys>(queries + kValues, p.value, p.value_stride, kv_head(), first_key(block), p.n_k);
      commit_copies();
      score();
      arrive();
      const int following = skip_gap(block + 1);
      copy_keys(following);
      fold(first_key(block));
      add_values();
      block = following;
    }
    finish();
  }

 private:
  static constexpr std::uint32_t kKeysAt = Shape::kRows * kD * 2, kValues = kKeysAt + kKeys * kD * 2;
  static constexpr float kHidden = -1e30f;  // finite: its weight is 0, and that times itself
  static constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;
  static constexpr std::int64_t kCached = 16 << 20;  // bytes of keys and values that stay in the L2 cache of any GPU

  // A few heads at a time, as many as keep their keys in the cache; of these the last rows first: causal ones see the
  // most keys, and long work should not come last.
  __device__ void choose_rows() {
    const std::int64_t blocks = (p.n_q + Shape::kRows - 1) / Shape::kRows, group = p.heads / p.kv_heads;
    const std::int64_t at_once = group * max(std::int64_t{1}, kCached / (p.n_k * kD * 4 + 1));
    const std::int64_t first = blockIdx.x / (blocks * at_once) * at_once, turn = blockIdx.x - first * blocks;
    const std::int64_t team = min(at_once, p.batch * p.heads - first), head = first + turn % team;
    i0 = static_cast<int>((blocks - 1 - turn / team) * Shape::kRows);
    h = static_cast<int>(head % p.heads), b = static_cast<int>(head / p.heads);
  }

  __device__ int kv_head() const { return h / static_cast<int>(p.heads / p.kv_heads); }
  __device__ int row_of(int t, int half) const { return i0 + threadIdx.x / 32 * 32 + t * 16 + half * 8 + lane() / 4; }
  __device__ static int lane() { return threadIdx.x % 32; }
  __device__ static std::int64_t first_key(int block) { return static_cast<std::int64_t>(block) * kKeys; }
  // Blocks of the prefix and of the band are visited.
  __device__ int skip_gap(int block) const { return block >= prefix_blocks ? max(block, band_block) : block; }

  template <int kCount>
  __device__ void copy(std::uint32_t to, const void* from, const Strides& stride, int head, std::int64_t first,
                       std::int64_t n) {
    copy_rows<kD, kCount, Shape::kThreads>(to, static_cast<const E*>(from) + b * stride.batch + head * stride.head,
                                           stride.row, first, n);
  }
  __device__ void copy_keys(int block) {
    if (block < end_block) copy<kKeys>(queries + kKeysAt, p.key, p.key_stride, kv_head(), first_key(block), p.n_k);
    commit_copies();
  }

  __device__ static void arrive() {
    wait_for_copies<0>();
    __syncthreads();
  }

  __device__ void begin_rows() {
    bool falling = false;
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const std::int64_t i = min(std::int64_t{row_of(t, half)}, p.n_q - 1);
        lambda[t][half] = kLog2E * (p.scales ? static_cast<const float*>(p.scales)[(b * p.heads + h) * p.n_q + i] : static_cast<float>(p.scale));
        falling |= !(lambda[t][half] > 1e-20f);
        highest[t][half] = -INFINITY;
        sums[t][half] = {0, 0, 0, 0};
#pragma unroll
        for (int tile = 0; tile < kOutputTiles; ++tile) output[t][tile][2 * half] = output[t][tile][2 * half + 1] = 0;
      }
    scales_first = __syncthreads_or(falling) || Shape::kExtras;
  }

  // scores = queries keys^T
  __device__ void score() {
    constexpr int kSteps = kD / 16, kPairs = kScoreTiles / 2;
    const std::uint32_t query_row = queries + chunk_offset<kD>(threadIdx.x / 32 * 32 + lane() % 16, lane() / 16);
    const std::uint32_t key_row = queries + kKeysAt + chunk_offset<kD>(lane() % 8 + lane() / 16 * 8, lane() / 8 % 2);
    std::uint32_t left[2][kRowTiles][4];
    const auto load_left = [&](int step) {
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t)
        load_fragments(left[step % 2][t], (query_row ^ (step * 32)) + t * 16 * kD * 2);
    };
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
      for (int tile = 0; tile < kScoreTiles; ++tile)
#pragma unroll
        for (int e = 0; e < 4; ++e) scores[t][tile][e] = 0;
    load_left(0);
    with_fragments_ahead<kSteps * kPairs>(
        [&](std::uint32_t(&to)[4], int turn) {
          load_fragments(to, (key_row ^ (turn / kPairs * 32)) + turn % kPairs * 16 * kD * 2);
        },
        [&](const std::uint32_t(&right)[4], int turn) {
          const int step = turn / kPairs, pair = turn % kPairs;
          if (pair == 0 && step + 1 < kSteps) load_left(step + 1);
#pragma unroll
          for (int t = 0; t < kRowTiles; ++t) {
            multiply_add<E>(scores[t][2 * pair], left[step % 2][t], right[0], right[1]);
            multiply_add<E>(scores[t][2 * pair + 1], left[step % 2][t], right[2], right[3]);
          }
        });
  }

  // f(score, key) for those of a row that this lane holds.
  template <class F>
  __device__ void for_each_score(int t, int half, std::int64_t j0, F f) {
#pragma unroll
    for (int tile = 0; tile < kScoreTiles; ++tile)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        f(scores[t][tile][2 * half + e], static_cast<int>(j0) + tile * 8 + lane() % 4 * 2 + e);
  }

  // lambda, soft cap and slopes, where the maximum of the products is not that of the scores.
  __device__ void scale_scores(int t, int half, std::int64_t j0) {
    for_each_score(t, half, j0, [&](float& s, int j) {
      s *= lambda[t][half];
      if constexpr (Shape::kExtras) {
        const float cap = kLog2E * static_cast<float>(p.soft_cap);
        if (cap > 0) s = cap * tanhf(s / cap);
        if (p.slopes) s -= kLog2E * static_cast<const float*>(p.slopes)[h] * fabsf(static_cast<float>(row_of(t, half) + p.visible.offset - j));
      }
    });
  }

  __device__ void hide_keys(int t, int half, std::int64_t j0) {
    const RowSpans seen = spans_of(p, b, row_of(t, half));
    for_each_score(t, half, j0, [&](float& s, int j) {
      if ((j < seen.begin || j >= seen.end) && j >= prefix) s = kHidden;
    });
  }

  // Scores become weights and join the sums.
  __device__ void fold(std::int64_t j0) {
    const bool whole = j0 + kKeys <= seen_by_all_end && (j0 >= seen_by_all_begin || j0 + kKeys <= prefix);
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t) {
      float from[2], factor[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (scales_first) scale_scores(t, half, j0);
        if (!whole) hide_keys(t, half, j0);
        factor[half] = scales_first ? 1.0f : lambda[t][half];
        from[half] = raise_maximum(t, half, factor[half]);
      }
      LaneSums part[2][2] = {};
#pragma unroll
      for (int tile = 0; tile < kScoreTiles; ++tile)
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& s = scores[t][tile][2 * half + e];
            s = weigh(fmaf(s, factor[half], -from[half]), Shape::kChains == 1 ? sums[t][half] : part[half][e]);
          }
      if constexpr (Shape::kChains == 2)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          add(sums[t][half], part[half][0]);
          add(sums[t][half], part[half][1]);
        }
    }
  }

  // The row's maximum with this block's, from which weights are seen: 0 as long as it has seen no key.
  __device__ float raise_maximum(int t, int half, float factor) {
    float found = kHidden;
#pragma unroll
    for (int tile = 0; tile < kScoreTiles; ++tile)
      found = fmaxf(found, fmaxf(scores[t][tile][2 * half], scores[t][tile][2 * half + 1]));
    found = row_max(found);
    float& m = highest[t][half];
    const float raised = fmaxf(m, found == kHidden ? -INFINITY : found * factor);
    const float from = raised == -INFINITY ? 0.0f : raised;
    const bool is_first = m == -INFINITY;
    rebase(t, half, is_first ? 0.0f : m - from, is_first);
    m = raised;
    return from;
  }

  // What is there, seen from a maximum that is higher by -delta.
  __device__ void rebase(int t, int half, float delta, bool is_first) {
    const float shrink = is_first ? 0.0f : exp2_fast(delta);
    LaneSums& row = sums[t][half];
    if constexpr (kAll) {
      row.w = shrink * (row.w + delta * (2 * row.u + delta * row.z));
      row.c *= shrink * shrink;
    }
    if constexpr (kEntropy) row.u = shrink * (row.u + delta * row.z);
    row.z *= shrink;
#pragma unroll
    for (int tile = 0; tile < kOutputTiles; ++tile) {
      output[t][tile][2 * half] *= shrink;
      output[t][tile][2 * half + 1] *= shrink;
    }
  }

  __device__ static float weigh(float t, LaneSums& row) {
    const float weight = exp2_fast(t);
    row.z += weight;
    if constexpr (kAll) {
      const float moment = t * weight;
      row.u += moment;
      row.w = fmaf(t, moment, row.w);
      row.c = fmaf(weight, weight, row.c);
    } else if constexpr (kEntropy) {
      row.u = fmaf(t, weight, row.u);
    }
    return weight;
  }

  __device__ static void add(LaneSums& row, const LaneSums& part) {
    row.z += part.z;
    if constexpr (kEntropy) row.u += part.u;
    if constexpr (kAll) row.w += part.w, row.c += part.c;
  }

  // output += weights values
  __device__ void add_values() {
    constexpr int kPairs = kOutputTiles / 2;
    const std::uint32_t value_row = queries + kValues + chunk_offset<kD>(lane() % 16, lane() / 16);
    std::uint32_t left[kRowTiles][4];
    with_fragments_ahead<kKeys / 16 * kPairs>(
        [&](std::uint32_t(&to)[4], int turn) {
          load_fragments_transposed(to, (value_row ^ (turn % kPairs * 32)) + turn / kPairs * 16 * kD * 2);
        },
        [&](const std::uint32_t(&right)[4], int turn) {
          const int step = turn / kPairs, pair = turn % kPairs;
          if (pair == 0)
#pragma unroll
            for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
              for (int e = 0; e < 4; ++e) {  // two tiles of scores, as they came out of the product, are one left side
                const float(&tile)[4] = scores[t][2 * step + e / 2];
                left[t][e] = pack<E>(tile[e % 2 * 2], tile[e % 2 * 2 + 1]);
              }
#pragma unroll
          for (int t = 0; t < kRowTiles; ++t) {
            multiply_add<E>(output[t][2 * pair], left[t], right[0], right[1]);
            multiply_add<E>(output[t][2 * pair + 1], left[t], right[2], right[3]);
          }
        });
  }

  __device__ void finish() {
#pragma unroll
    for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const LaneSums& lane_sums = sums[t][half];
        const LaneSums row = {row_sum(lane_sums.z), kEntropy ? row_sum(lane_sums.u) : 0,
                              kAll ? row_sum(lane_sums.w) : 0, kAll ? row_sum(lane_sums.c) : 0};
        const std::int64_t i = row_of(t, half);
        if (i >= p.n_q) continue;
        if (lane() % 4 == 0) write_record((b * p.heads + h) * p.n_q + i, highest[t][half], row);
        write_output(t, half, i, row.z);
      }
  }

  __device__ void write_record(std::int64_t place, float m, const LaneSums& row) {
    static_cast<float*>(out.rows.m)[place] = m * kLn2;
    static_cast<float*>(out.rows.z)[place] = row.z;
    if constexpr (kEntropy) static_cast<float*>(out.rows.u)[place] = row.u * kLn2;
    if constexpr (kAll) {
      static_cast<float*>(out.rows.w)[place] = row.w * (kLn2 * kLn2);
      static_cast<float*>(out.rows.c)[place] = row.c;
    }
  }

  __device__ void write_output(int t, int half, std::int64_t i, float z) {
    const float m = highest[t][half];
    const float total = p.sink ? z + exp2_fast(static_cast<const float*>(p.sink)[h] * kLog2E - m) : z;
    const float inverse = m == -INFINITY ? 0.0f : 1.0f / total;
    E* row = static_cast<E*>(out.output) + b * out.output_stride.batch + h * out.output_stride.head +
             i * out.output_stride.row;
#pragma unroll
    for (int tile = 0; tile < kOutputTiles; ++tile)
      *reinterpret_cast<std::uint32_t*>(row + tile * 8 + lane() % 4 * 2) =
          pack<E>(output[t][tile][2 * half] * inverse, output[t][tile][2 * half + 1] * inverse);
  }

  const Problem p;  // copies: their numbers are then read as constants
  const ForwardOutput out;
  const std::uint32_t queries;  // where they lie in shared memory, followed by keys and values
  int b, h, i0;
  int seen_by_all_begin, seen_by_all_end;  // keys of the band that every row sees
  int prefix, prefix_blocks, band_block, end_block;
  bool scales_first;
  float lambda[kRowTiles][2], highest[kRowTiles][2];  // in units of log 2
  LaneSums sums[kRowTiles][2];
  float scores[kRowTiles][kScoreTiles][4], output[kRowTiles][kOutputTiles][4];
};

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 2) forward_kernel(const Problem problem,
                                                                           const ForwardOutput output) {
  extern __shared__ __align__(1024) unsigned char shared[];
  ForwardBlock<Shape>(problem, output, shared_address(shared)).run();
}

template <ElementType type, int d, MomentSet moments, bool extras>
cudaError_t launch_forward(const Problem& problem, const ForwardOutput& output, cudaStream_t stream) {
  using Shape = ForwardShape<type, d, moments, extras>;
  const auto kernel = forward_kernel<Shape>;
  const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kBytes);
  const std::int64_t blocks = (problem.n_q + Shape::kRows - 1) / Shape::kRows * problem.batch * problem.heads;
  if (error != cudaSuccess || blocks == 0) return error;
  kernel<<<static_cast<unsigned>(blocks), Shape::kThreads, Shape::kBytes, stream>>>(problem, output);
  return cudaGetLastError();
}

}  // namespace isentropic::cuda
