// Digests of sampled rows on a GPU, where kernels for it were built: they announce themselves when the library is
// loaded.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>

#include "scan/row_digest.hpp"

namespace isentropic::pytorch {

// All tensors are on one device, contiguous.
struct DeviceRows {
  at::Tensor weights;          // float32 [heads, rows, keys]
  at::Tensor places, targets;  // the bytes of scan::SampledPlace [rows], and int32
  std::uint64_t layer = 0;
  scan::DigestLayout layout = {};
  at::Tensor totals = {};  // float32 [heads, keys, 2], where rows are drawn: what keys got from rows before; added to
  bool is_last = true;
};

struct DeviceDigests {
  at::Tensor numbers;              // float64 [heads, rows, layout.size()]
  at::Tensor shuffled_sinks = {};  // float64 [heads], of rows that are drawn, with the last ones
};

// Null: none were built. Nothing comes back for a device that is too old.
using DigestRows = std::optional<DeviceDigests>(const DeviceRows& rows);
inline DigestRows*& digest_rows_on_cuda() {
  static DigestRows* digest = nullptr;
  return digest;
}

}  // namespace isentropic::pytorch
