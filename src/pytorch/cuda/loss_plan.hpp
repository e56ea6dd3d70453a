// How a loss is split into pieces on a GPU: trades memory beyond inputs, results and gradients for full tensor cores.
//
// The products of `chunk_rows` rows with all keys are held at a time. Their gradients, in the type of the inputs, are
// kept for `group_rows` rows: the longer the sums over rows, the fewer times dK is accumulated in float32. If the
// gradients of all rows take no more memory than such sums, all are kept and no sums are needed. If the sums alone
// would be large, dK is left to a second sweep, which takes `block_keys` keys at a time and recomputes the scores.
#pragma once

#include <algorithm>
#include <cstdint>

namespace isentropic::pytorch {

struct LossPlan {
  static constexpr std::int64_t kMiB = 1 << 20;
  static constexpr std::int64_t kAligned = 64;  // elements: rows of products and gradients begin at multiples

  LossPlan(std::int64_t rows, std::int64_t keys, std::int64_t d, std::int64_t element_size)
      : stride(aligned(keys)), piece(std::max(kAligned, (8 * kMiB / d) / kAligned * kAligned)) {
    const std::int64_t product_bytes = std::clamp(512 * stride * 4, 64 * kMiB, 256 * kMiB);
    const std::int64_t most = std::clamp<std::int64_t>(product_bytes / (stride * 4), 1, rows);
    const std::int64_t chunks = (rows + most - 1) / most;
    chunk_rows = (rows + chunks - 1) / chunks;
    const std::int64_t sum_bytes = 4 * keys * d, row_bytes = stride * element_size;
    one_group = chunks == 1 || rows * row_bytes + product_bytes <= sum_bytes + 384 * kMiB;
    const std::int64_t held = std::max<std::int64_t>(1, 384 * kMiB / row_bytes / chunk_rows);
    group_rows = one_group ? rows : std::min(rows, held * chunk_rows);
    two_sweeps = !one_group && sum_bytes > 512 * kMiB;
    block_keys = two_sweeps ? std::min(keys, std::max(kAligned, 48 * kMiB / d / kAligned * kAligned)) : keys;
  }

  static std::int64_t aligned(std::int64_t count) { return (count + kAligned - 1) / kAligned * kAligned; }

  std::int64_t stride;  // of a row over all keys
  std::int64_t piece;   // rows or keys whose gradient is computed at a time, in float32: 32 MiB
  std::int64_t chunk_rows, group_rows, block_keys;
  bool one_group, two_sweeps;
};

}  // namespace isentropic::pytorch
