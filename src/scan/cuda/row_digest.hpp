// Digests of sampled rows (scan/row_digest.hpp) on an NVIDIA GPU: the weights of a layer's rows stay on it, and only a
// few hundred numbers per row leave it.
//
// Framework-free: takes pointers, sizes and a stream, and returns the launch error. Nothing is allocated and no call
// waits for the device. Sums are taken in double and in a fixed order: the same rows give the same bits.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "scan/row_digest.hpp"

namespace isentropic::scan::cuda {

// All arrays are on the device.
struct SampledWeights {
  const float* weights = nullptr;  // [heads, rows, keys]
  std::int64_t heads = 0, rows = 0, keys = 0;
  const SampledPlace* places = nullptr;   // [rows]
  const std::int32_t* targets = nullptr;  // keys, for all rows
  std::uint64_t layer = 0;                // for the shuffled order of the keys
};

// digests [heads, rows, layout.size()].
cudaError_t digest_rows(const SampledWeights& sampled, const DigestLayout& layout, double* digests,
                        cudaStream_t stream);

// The weight a key received, and from how many rows.
struct KeyTotal {
  float weight, rows;
};

// KeyWeights of scan/sampled_tally.hpp on the device: adds the rows to totals [heads, keys]; then computes the largest
// mean of each head, [heads].
cudaError_t add_shuffled_keys(const SampledWeights& sampled, KeyTotal* totals, cudaStream_t stream);
cudaError_t largest_means(const KeyTotal* totals, std::int64_t heads, std::int64_t keys, std::int64_t fewest_rows,
                          double* largest, cudaStream_t stream);

}  // namespace isentropic::scan::cuda
