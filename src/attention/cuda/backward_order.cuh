// Which keys a backward block owns, which query blocks it visits, and the order in which blocks add to G.
#pragma once

#include "attention/cuda/instructions.cuh"
#include "attention/cuda/launch_backward.hpp"
#include "attention/cuda/visible_keys.cuh"

namespace isentropic::cuda {

template <int kQueries>
struct QueryBlockOf {
  int h, tile;
  __device__ std::int64_t i0() const { return std::int64_t{tile} * kQueries; }
};

template <int kQueries, int kKeys>
class BackwardOrder {
 public:
  using QueryBlock = QueryBlockOf<kQueries>;
  int b, kv_head;
  int key_blocks;
  std::int64_t j0;  // first key
  int seen_keys;    // keys of the batch entry before the end of the last one that some row may see

  // turns: null if the order of additions is free. share: an integer in shared memory.
  __device__ BackwardOrder(const Problem& problem, unsigned* turns, int* share)
      : key_blocks(static_cast<int>((problem.n_k + kKeys - 1) / kKeys)),
        p(problem),
        tiles(static_cast<int>((problem.n_q + kQueries - 1) / kQueries)),
        added(turns ? turns + 1 : nullptr) {
    choose_keys(turns ? started_before(turns, share) : blockIdx.x);
    find_tiles();
  }

  __device__ int turns() const { return max(0, end_tile - first_tile) * group(); }
  __device__ QueryBlock first() const { return {kv_head * group(), first_tile}; }
  __device__ QueryBlock after(const QueryBlock& block) const {
    return block.tile + 1 < end_tile ? QueryBlock{block.h, block.tile + 1} : QueryBlock{block.h + 1, first_tile};
  }
  __device__ int key_block() const { return static_cast<int>(j0 / kKeys); }
  __device__ std::int64_t product_tile(const QueryBlock& block) const {
    return std::int64_t{b * static_cast<int>(p.heads) + block.h} * tiles + block.tile;
  }

  // Whether every row of the query block sees every key of this block.
  __device__ bool sees_all(const QueryBlock& block) const {
    return block.tile >= first_whole && block.tile < end_whole;
  }

  // Blocks of later keys add first: in causal attention each block of keys then starts where it need not wait, one
  // block of queries behind the block before it. A warp adds to its own part of a block of queries, so it waits only
  // for the same warp of other blocks.
  //
  // The others have nearly always added already, and an early glance at the counter, hidden behind the products, shows
  // it: additions issued after the glance reach memory after theirs.
  __device__ unsigned glance(const QueryBlock& block) const { return glance_at_count(added_by_warp(block)); }
  __device__ void wait_to_add(const QueryBlock& block, unsigned glanced) const {
    const auto wanted = static_cast<unsigned>(visitors_before(block));
    if (glanced == wanted) return;
    if (threadIdx.x % 32 == 0) wait_for_count(added_by_warp(block), wanted);
    __syncwarp();
  }
  __device__ void let_next_add(const QueryBlock& block) const {
    __syncwarp();
    if (threadIdx.x % 32 == 0) raise_count(added_by_warp(block));
  }

 private:
  // Bytes of queries, output gradients and G that stay in the L2 cache of a large GPU.
  static constexpr std::int64_t kCached = 32 << 20;

  __device__ int group() const { return static_cast<int>(p.heads / p.kv_heads); }
  __device__ unsigned* added_by_warp(const QueryBlock& block) const {
    return added + product_tile(block) * kBackwardWarps + threadIdx.x / 32;
  }

  // A block that waits for others must start after them, and blocks need not start in the order of their indices.
  __device__ static unsigned started_before(unsigned* count, int* share) {
    if (threadIdx.x == 0) *share = static_cast<int>(atomicAdd(count, 1u));
    __syncthreads();
    return static_cast<unsigned>(*share);
  }

  // A few heads at a time: as many as keep everything their blocks read in the cache. Within these, the first keys come
  // first: they are visible to most causal rows, and long work should not come last. With a fixed order of additions,
  // the last keys come first instead.
  __device__ void choose_keys(std::int64_t number) {
    const std::int64_t blocks = key_blocks, all = p.batch * p.kv_heads;
    const std::int64_t at_once = max(std::int64_t{1}, kCached / (p.n_q * p.d * 8 * group() + 1));
    const std::int64_t first = number / (blocks * at_once) * at_once, turn = number - first * blocks;
    const std::int64_t team = min(at_once, all - first), head = first + turn % team, place = turn / team;
    j0 = (added ? blocks - 1 - place : place) * kKeys;
    kv_head = static_cast<int>(head % p.kv_heads), b = static_cast<int>(head / p.kv_heads);
  }

  // Bands never move backwards as i grows, so the query blocks whose rows may see these keys are contiguous. All rows
  // see the prefix; if it varies, no query block is skipped.
  __device__ void find_tiles() {
    first_tile = end_tile = first_whole = end_whole = 0, seen_keys = 0, prefix_blocks = 0;
    if (p.n_q == 0) return;
    const RowSpans top = spans_of(p, b, 0);
    const std::int64_t prefix = top.prefix_end > top.prefix_begin ? min(std::int64_t{top.prefix_end}, p.n_k) : 0;
    const std::int64_t end = spans_of(p, b, p.n_q - 1).end;
    prefix_blocks = p.visible.prefix_varies ? key_blocks : static_cast<int>((prefix + kKeys - 1) / kKeys);
    seen_keys = static_cast<int>(p.visible.prefix_varies ? p.n_k : min(max(prefix, end), p.n_k));
    end_tile = tiles;
    const bool in_prefix = !p.visible.prefix_varies && j0 >= top.prefix_begin && j0 + kKeys <= top.prefix_end;
    const int full = j0 + kKeys <= p.n_k ? static_cast<int>(p.n_q / kQueries) : 0;  // without a partial last block
    if (key_block() >= prefix_blocks) p.visible.spans ? find_tiles_of_spans() : find_tiles_of_band();
    first_whole = first_tile, end_whole = max(first_tile, min(end_tile, full));
    if (!in_prefix) p.visible.spans ? find_whole_tiles_of_spans() : find_whole_tiles_of_band();
  }

  // From the first query block whose last row's band reaches these keys to the first whose first row's band begins
  // beyond them. Whole ones: from the first whose first row's band reaches the last of these keys to the first whose
  // last row's band begins after the first key.
  __device__ void find_tiles_of_spans() {
    first_tile = first_that(0, tiles, [&](int tile) { return end_block(tile) > key_block(); });
    end_tile = first_that(first_tile, tiles, [&](int tile) { return begin_block(tile) > key_block(); });
  }
  __device__ void find_whole_tiles_of_spans() {
    const auto row = [&](int tile) { return std::int64_t{tile} * kQueries; };
    first_whole =
        first_that(first_tile, end_whole, [&](int tile) { return spans_of(p, b, row(tile)).end >= j0 + kKeys; });
    end_whole =
        first_that(first_whole, end_whole, [&](int tile) { return spans_of(p, b, row(tile + 1) - 1).begin > j0; });
  }

  // The same where row i sees the keys [i + offset - left + 1, i + offset + right] that exist.
  __device__ void find_tiles_of_band() {
    const std::int64_t first_row = j0 - p.visible.offset - p.visible.right;
    const std::int64_t end_row = j0 + kKeys - p.visible.offset + p.visible.left - 1;
    first_tile = first_row < p.n_q ? block_among(0, tiles, first_row) : tiles;
    if (j0 + kKeys <= p.n_k) end_tile = block_among(first_tile, tiles, end_row + kQueries - 1);
  }
  __device__ void find_whole_tiles_of_band() {
    const std::int64_t first_row = j0 + kKeys - p.visible.offset - p.visible.right - 1;
    const std::int64_t end_row = j0 - p.visible.offset + p.visible.left + 1;
    first_whole = block_among(first_tile, end_whole, first_row + kQueries - 1);
    end_whole = block_among(first_whole, end_whole, end_row - 1);
  }
  // The query block that contains the row, clamped to [low, high].
  __device__ static int block_among(int low, int high, std::int64_t row) {
    return static_cast<int>(max(std::int64_t{low}, min(max(row, std::int64_t{0}) / kQueries, std::int64_t{high})));
  }

  // The range of key blocks in the band of a query block.
  __device__ int begin_block(int tile) const { return spans_of(p, b, std::int64_t{tile} * kQueries).begin / kKeys; }
  __device__ int end_block(int tile) const {
    const std::int64_t end = spans_of(p, b, (std::int64_t{tile} + 1) * kQueries - 1).end;
    return static_cast<int>((min(end, p.n_k) + kKeys - 1) / kKeys);
  }

  // Binary search in [low, high) for the first query block where `late`, which never reverts to false, holds; else
  // high.
  template <class Late>
  __device__ static int first_that(int low, int high, Late late) {
    while (low < high) {
      const int middle = low + (high - low) / 2;
      if (late(middle))
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

  // Number of later key blocks that visit the query block.
  __device__ int visitors_before(const QueryBlock& block) const {
    const int own = key_block(), end = end_block(block.tile);
    if (own >= prefix_blocks) return end - 1 - own;
    return prefix_blocks - 1 - own + max(0, end - max(prefix_blocks, begin_block(block.tile)));
  }

  const Problem& p;
  const int tiles;
  unsigned* const added;
  int first_tile, end_tile, first_whole, end_whole, prefix_blocks;
};

}  // namespace isentropic::cuda
