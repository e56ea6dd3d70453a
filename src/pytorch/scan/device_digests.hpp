// Digests of sampled rows on a GPU, if kernels for them were built: they register themselves when the library loads.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>

#include "scan/row_digest.hpp"

namespace isentropic::pytorch {

// All tensors are on one device and contiguous.
struct DeviceRows {
  at::Tensor weights;          // float32 [heads, rows, keys]
  at::Tensor places, targets;  // the bytes of scan::SampledPlace [rows], and int32
  std::uint64_t layer = 0;
  scan::DigestLayout layout = {};
  at::Tensor totals = {};  // float32 [heads, keys, 2], with drawn rows: what keys got from earlier rows; updated
  bool is_last = true;
};

struct DeviceDigests {
  at::Tensor numbers;              // float64 [heads, rows, layout.size()]
  at::Tensor shuffled_sinks = {};  // float64 [heads], with drawn rows, returned with the last ones
};

// Null if none were built. Returns nullopt for a device that is too old.
using DigestRows = std::optional<DeviceDigests>(const DeviceRows& rows);
inline DigestRows*& digest_rows_on_cuda() {
  static DigestRows* digest = nullptr;
  return digest;
}

}  // namespace isentropic::pytorch
