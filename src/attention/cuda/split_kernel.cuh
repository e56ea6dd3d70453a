// Few rows against many keys, memory-bound: each block processes one part of the keys of one kv head, for all rows that
// read it, and writes partial rows.
//
// The rows of a kv head (the queries of its heads) are packed into the 16 rows of a tensor-core product. A warp takes
// every fourth tile of keys of the block's part and has its own buffers: it prefetches tiles, waits only for its own
// copies, and keeps its own maxima, sums and output in registers. The warps synchronise once, at the end, to merge.
// Until then scores are in units of log 2.
#pragma once

#include "attention/cuda/merge.cuh"
#include "attention/cuda/split_place.cuh"
#include "attention/cuda/split_values.cuh"
#include "attention/cuda/thread_block.cuh"

namespace isentropic::cuda {

template <class Shape>
class SplitBlock {
 public:
  using E = typename Shape::E;
  static constexpr int kD = Shape::kD, kKeys = Shape::kKeys, kWarps = Shape::kWarps;
  static constexpr int kScoreTiles = kKeys / 8, kOutputTiles = kD / 8;

  __device__ SplitBlock(const Problem& problem, const PartialRows& partial_, unsigned char* shared)
      : p(problem),
        partial(partial_),
        memory(shared),
        place(blockIdx.x, problem, static_cast<unsigned>(partial_.parts)),
        rows{SplitRow(problem, place, lane() / 4), SplitRow(problem, place, lane() / 4 + 8)},
        visited(ranges_of_rows(rows[0].keys.prefix, rows[0].there, rows[1].keys.prefix, rows[1].there),
                ranges_of_rows(rows[0].keys.band, rows[0].there, rows[1].keys.band, rows[1].there)),
        reads_values(problem.value && partial_.output) {
    first_turn = static_cast<int>(std::int64_t{visited.count()} * place.part / partial.parts);
    last_turn = static_cast<int>(std::int64_t{visited.count()} * (place.part + 1) / partial.parts);
    key = static_cast<const E*>(p.key) + place.b * p.key_stride.batch + place.kv_head * p.key_stride.head;
    if (reads_values)
      value = static_cast<const E*>(p.value) + place.b * p.value_stride.batch + place.kv_head * p.value_stride.head;
  }

  __device__ void run() {
    int ahead = first_turn + warp(), ahead_stage = 0, stage = 0;
#pragma unroll
    for (int s = 0; s + 1 < Shape::kStages; ++s) copy_ahead(ahead, ahead_stage);
    load_queries();
    for (int turn = first_turn + warp(); turn < last_turn; turn += kWarps) {
      wait_for_copies<Shape::kStages - 2>();
      __syncwarp();  // every lane's copies have arrived, and no lane still reads the previous stage
      copy_ahead(ahead, ahead_stage);
      const int j0 = visited.first_key(turn);
      const std::uint32_t tile = shared_address(own_memory()) + stage * Shape::kStageBytes;
      score(tile);
      fold(j0);
      if (reads_values) add_values(stage, j0);
      stage = next(stage);
    }
    __syncwarp();
    leave_for_merge();
    __syncthreads();
    merge_warps();
  }

 private:
  static constexpr float kHidden = -1e30f;  // finite, so that its weight and their product are 0
  static constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;
  static constexpr int kNowhere = static_cast<int>(VisibleKeys::kAll);

  __device__ static int lane() { return threadIdx.x % 32; }
  __device__ static int warp() { return threadIdx.x / 32; }
  __device__ static int next(int stage) { return stage + 1 == Shape::kStages ? 0 : stage + 1; }
  __device__ unsigned char* memory_of(int w) const { return memory + w * Shape::kWarpBytes; }
  __device__ unsigned char* own_memory() const { return memory_of(warp()); }

  // ---- Copies ----

  __device__ void copy_ahead(int& turn, int& stage) {
    if (turn < last_turn) {
      const int j0 = visited.first_key(turn);
      const std::uint32_t to = shared_address(own_memory()) + stage * Shape::kStageBytes;
      copy_tile(to, key, p.key_stride.row, j0);
      if (reads_values) copy_tile(to + Shape::kTileBytes, value, p.value_stride.row, j0);
    }
    commit_copies();
    turn += kWarps, stage = next(stage);
  }

  // Keys that no row sees are zero-filled: their contents do not matter.
  __device__ void copy_tile(std::uint32_t to, const E* from, std::int64_t stride, int j0) {
    constexpr int kChunks = kD / 8, kRowsAtOnce = 32 / kChunks;
    const int chunk = lane() % kChunks, row0 = lane() / kChunks;
    const E* source = from + (j0 + row0) * stride + chunk * 8;
#pragma unroll
    for (int i = 0; i < kKeys / kRowsAtOnce; ++i) {
      const int row = row0 + i * kRowsAtOnce;
      copy_async(to + chunk_offset<kD>(row, chunk), source + i * kRowsAtOnce * stride, visited.is_seen(j0 + row));
    }
  }

  // Left operands of the products, and the constants of each row.
  __device__ void load_queries() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const SplitRow& row = rows[half];
      const E* from = static_cast<const E*>(p.query) + place.b * p.query_stride.batch + row.h * p.query_stride.head +
                      row.i * p.query_stride.row + lane() % 4 * 2;
#pragma unroll
      for (int step = 0; step < kD / 16; ++step)
#pragma unroll
        for (int part = 0; part < 2; ++part)
          query[step][2 * part + half] =
              row.there ? *reinterpret_cast<const std::uint32_t*>(from + step * 16 + part * 8) : 0;
      lambda[half] =
          kLog2E * (p.scales ? static_cast<const float*>(p.scales)[row.number] : static_cast<float>(p.scale));
      slope[half] = p.slopes ? kLog2E * static_cast<const float*>(p.slopes)[row.h] : 0.0f;
      position[half] = static_cast<int>(position_of(p, place.b, row.i));
      highest[half] = -INFINITY, best[half] = -1;
      sums[half] = {0, 0, 0, 0};
#pragma unroll
      for (int tile = 0; tile < kOutputTiles; ++tile) output[tile][2 * half] = output[tile][2 * half + 1] = 0;
    }
  }

  // ---- A tile ----

  // scores = queries keys^T
  __device__ void score(std::uint32_t keys) {
    constexpr int kSteps = kD / 16, kPairs = kScoreTiles / 2;
    const std::uint32_t key_row = keys + chunk_offset<kD>(lane() % 8 + lane() / 16 * 8, lane() / 8 % 2);
#pragma unroll
    for (int tile = 0; tile < kScoreTiles; ++tile)
#pragma unroll
      for (int e = 0; e < 4; ++e) scores[tile][e] = 0;
    with_fragments_ahead<kSteps * kPairs>(
        [&](std::uint32_t(&to)[4], int turn) {
          load_fragments(to, (key_row ^ (turn / kPairs * 32)) + turn % kPairs * 16 * kD * 2);
        },
        [&](const std::uint32_t(&right)[4], int turn) {
          const int step = turn / kPairs, pair = turn % kPairs;
          multiply_add<E>(scores[2 * pair], query[step], right[0], right[1]);
          multiply_add<E>(scores[2 * pair + 1], query[step], right[2], right[3]);
        });
  }

  // Calls f(score, key) for this lane's scores of a row.
  template <class F>
  __device__ void for_each_score(int half, int j0, F f) {
#pragma unroll
    for (int tile = 0; tile < kScoreTiles; ++tile)
#pragma unroll
      for (int e = 0; e < 2; ++e) f(scores[tile][2 * half + e], j0 + tile * 8 + lane() % 4 * 2 + e);
  }

  // Turns scores into weights and adds them to the sums.
  __device__ void fold(int j0) {
    float raised[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      finish_scores(half, j0);
      raised[half] = maximum(half);
    }
    if (__any_sync(0xffffffffu, raised[0] > highest[0] || raised[1] > highest[1]))
#pragma unroll
      for (int half = 0; half < 2; ++half) raise(half, raised[half], j0);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float from = highest[half] == -INFINITY ? 0.0f : highest[half];
      for_each_score(half, j0, [&](float& s, int) { s = weigh(s - from, sums[half]); });
    }
  }

  // Applies lambda, soft cap, slopes and visibility. A NaN stays NaN.
  __device__ void finish_scores(int half, int j0) {
    for_each_score(half, j0, [&](float& s, int) { s *= lambda[half]; });
    if (p.soft_cap > 0) {
      const float cap = kLog2E * static_cast<float>(p.soft_cap);
      for_each_score(half, j0, [&](float& s, int) { s = cap * tanhf(s / cap); });
    }
    if (p.slopes)
      for_each_score(half, j0,
                     [&](float& s, int j) { s -= slope[half] * fabsf(static_cast<float>(position[half] - j)); });
    if (!visited.is_seen_by_all(j0))
      for_each_score(half, j0, [&](float& s, int j) { s = holds(rows[half].keys, j) ? s : kHidden; });
    for_each_score(half, j0, [&](float& s, int) { s = s < kHidden ? kHidden : s; });
  }

  // The row's maximum, including this tile: -inf as long as no key counts.
  __device__ float maximum(int half) {
    float found = kHidden;
    for_each_score(half, 0, [&](float s, int) { found = fmaxf(found, s); });
    found = row_max(found);
    return found > kHidden ? fmaxf(highest[half], found) : highest[half];
  }

  // Rescales the sums and the output to a higher maximum.
  __device__ void raise(int half, float raised, int j0) {
    if (partial.rows.a) find_best(half, raised, j0);
    const float delta = highest[half] == -INFINITY ? 0.0f : highest[half] - raised, shrink = exp2_fast(delta);
    sums[half] = rebase(sums[half], delta, shrink);
#pragma unroll
    for (int tile = 0; tile < kOutputTiles; ++tile)
      output[tile][2 * half] *= shrink, output[tile][2 * half + 1] *= shrink;
    highest[half] = raised;
  }

  // The lowest key of this tile that attains the new maximum.
  __device__ void find_best(int half, float raised, int j0) {
    int found = kNowhere;
    for_each_score(half, j0, [&](float s, int j) { found = s == raised ? min(found, j) : found; });
    found = min(found, __shfl_xor_sync(0xffffffffu, found, 1));
    found = min(found, __shfl_xor_sync(0xffffffffu, found, 2));
    if (raised > highest[half]) best[half] = found;
  }

  __device__ static float weigh(float t, SoftmaxMoments<float>& row) {
    const float weight = exp2_fast(t), moment = t * weight;
    row.z += weight;
    row.u += moment;
    row.w = fmaf(t, moment, row.w);
    row.c = fmaf(weight, weight, row.c);
    return weight;
  }

  // output += weights values
  __device__ void add_values(int stage, int j0) {
    constexpr int kPairs = kOutputTiles / 2;
    unsigned char* values = own_memory() + stage * Shape::kStageBytes + Shape::kTileBytes;
    if (!visited.is_seen_by_all(j0) && has_infinities<E, Shape::kTileBytes>(values)) {
      add_infinities<E, kKeys>(values, rows[0].keys, rows[1].keys, j0, output);
      clear_infinities<E, Shape::kTileBytes>(values);
    }
    const std::uint32_t value_row = shared_address(values) + chunk_offset<kD>(lane() % 16, lane() / 16);
    std::uint32_t left[4];
    with_fragments_ahead<kKeys / 16 * kPairs>(
        [&](std::uint32_t(&to)[4], int turn) {
          load_fragments_transposed(to, (value_row ^ (turn % kPairs * 32)) + turn / kPairs * 16 * kD * 2);
        },
        [&](const std::uint32_t(&right)[4], int turn) {
          const int step = turn / kPairs, pair = turn % kPairs;
          if (pair == 0)
#pragma unroll
            for (int e = 0; e < 4; ++e) {  // two score tiles, as the product left them, form one left operand
              const float(&tile)[4] = scores[2 * step + e / 2];
              left[e] = pack<E>(tile[e % 2 * 2], tile[e % 2 * 2 + 1]);
            }
          multiply_add<E>(output[2 * pair], left, right[0], right[1]);
          multiply_add<E>(output[2 * pair + 1], left, right[2], right[3]);
        });
  }

  // ---- The merge of the warps ----

  __device__ float* output_of(int w, int row) const {
    return reinterpret_cast<float*>(memory_of(w)) + row * Shape::kMergeRow;
  }
  __device__ SoftmaxRecord<float>& record_of(int w, int row) const {
    return reinterpret_cast<SoftmaxRecord<float>*>(output_of(w, kSplitRows))[row];
  }

  // Into the warp's own buffers, which it no longer reads.
  __device__ void leave_for_merge() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane() / 4 + half * 8;
      const SoftmaxMoments<float> sum = {row_sum(sums[half].z), row_sum(sums[half].u) * kLn2,
                                         row_sum(sums[half].w) * (kLn2 * kLn2), row_sum(sums[half].c)};
      if (lane() % 4 == 0)
        record_of(warp(), row) = with_nan_in_maximum<float>({highest[half] * kLn2, sum, 0, best[half]});
#pragma unroll
      for (int tile = 0; tile < kOutputTiles; ++tile)
        *reinterpret_cast<float2*>(output_of(warp(), row) + tile * 8 + lane() % 4 * 2) =
            make_float2(output[tile][2 * half], output[tile][2 * half + 1]);
    }
  }

  // Eight threads write a row.
  __device__ void merge_warps() {
    constexpr int kThreadsOfRow = Shape::kThreads / kSplitRows;
    const int in_tile = threadIdx.x / kThreadsOfRow, turn = threadIdx.x % kThreadsOfRow;
    const SplitRow row(p, place, in_tile);
    if (!row.there) return;
    SoftmaxRecord<float> merged;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) merged = merge(merged, record_of(w, in_tile));
    merged.k = visited.count_seen(row.keys, first_turn, last_turn);
    const std::int64_t number = place.part * p.batch * p.heads * p.n_q + row.number;
    if (turn == 0) store_record(partial.rows, number, merged);
    if (!reads_values) return;
    float share[kWarps];
#pragma unroll
    for (int w = 0; w < kWarps; ++w) share[w] = share_of(record_of(w, in_tile), merged.m);
#pragma unroll
    for (int column = 0; column < kD; column += 4 * kThreadsOfRow) {
      float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        if (share[w] == 0) continue;
        const float4 x = *reinterpret_cast<const float4*>(output_of(w, in_tile) + column + turn * 4);
        sum.x += share[w] * x.x, sum.y += share[w] * x.y, sum.z += share[w] * x.z, sum.w += share[w] * x.w;
      }
      *reinterpret_cast<float4*>(static_cast<float*>(partial.output) + number * kD + column + turn * 4) = sum;
    }
  }

  const Problem& p;
  const PartialRows& partial;
  unsigned char* const memory;
  const SplitPlace place;
  const SplitRow rows[2];
  const VisitedTiles<kKeys> visited;
  const bool reads_values;
  int first_turn, last_turn;
  const E *key = nullptr, *value = nullptr;
  std::uint32_t query[kD / 16][4];
  float lambda[2], slope[2], highest[2];
  int position[2], best[2];
  SoftmaxMoments<float> sums[2];
  float scores[kScoreTiles][4], output[kOutputTiles][4];
};

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 2)
    split_kernel(const __grid_constant__ Problem problem, const __grid_constant__ PartialRows parts) {
  SplitBlock<Shape>(problem, parts, block_memory()).run();
}

}  // namespace isentropic::cuda
