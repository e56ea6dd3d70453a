// Digests of sampled rows on the CUDA kernels.
#include <c10/core/DeviceGuard.h>

#include "pytorch/cuda/attention_cuda.hpp"
#include "pytorch/cuda/stream.hpp"
#include "pytorch/scan/device_digests.hpp"
#include "scan/cuda/row_digest.hpp"
#include "scan/sampled_tally.hpp"

namespace isentropic::pytorch {
namespace {

std::optional<DeviceDigests> digest_rows(const DeviceRows& rows) {
  const at::Tensor& weights = rows.weights;
  if (!is_supported(weights.get_device())) return {};
  const c10::DeviceGuard guard(weights.device());
  const cudaStream_t stream = current_cuda_stream(weights.get_device());
  const scan::cuda::SampledWeights sampled{
      .weights = weights.const_data_ptr<float>(),
      .heads = weights.size(0),
      .rows = weights.size(1),
      .keys = weights.size(2),
      .places = reinterpret_cast<const scan::SampledPlace*>(rows.places.const_data_ptr<std::uint8_t>()),
      .targets = rows.targets.const_data_ptr<std::int32_t>(),
      .layer = rows.layer};
  const at::TensorOptions real = weights.options().dtype(at::kDouble);
  DeviceDigests out{at::empty({sampled.heads, sampled.rows, rows.layout.size()}, real)};
  require_launched(scan::cuda::digest_rows(sampled, rows.layout, out.numbers.mutable_data_ptr<double>(), stream));
  if (!rows.layout.is_drawn) return out;
  auto* const totals = reinterpret_cast<scan::cuda::KeyTotal*>(rows.totals.mutable_data_ptr<float>());
  require_launched(scan::cuda::add_shuffled_keys(sampled, totals, stream));
  if (!rows.is_last) return out;
  out.shuffled_sinks = at::empty({sampled.heads}, real);
  require_launched(scan::cuda::largest_means(totals, sampled.heads, sampled.keys, scan::KeyWeights::kFewestRows,
                                             out.shuffled_sinks.mutable_data_ptr<double>(), stream));
  return out;
}

[[maybe_unused]] const bool digests_announced = (digest_rows_on_cuda() = digest_rows, true);

}  // namespace
}  // namespace isentropic::pytorch
