// Under autocast query, key and value are cast to the region's type; statistics and losses stay float32 as always.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include "pytorch/attention.hpp"
#include "pytorch/losses.hpp"
#include "pytorch/target_score.hpp"

namespace isentropic::pytorch {
namespace {

template <c10::DeviceType device>
struct Region {
  const c10::impl::ExcludeDispatchKeyGuard without{device == c10::kCPU ? c10::DispatchKey::AutocastCPU
                                                                       : c10::DispatchKey::AutocastCUDA};
  const at::ScalarType type = at::autocast::get_autocast_dtype(device);

  at::Tensor cast(const at::Tensor& tensor) const { return at::autocast::cached_cast(type, tensor, device); }
};

template <c10::DeviceType device>
Forward attention_autocast(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                           const std::optional<at::Tensor>& value, at::TensorList terms) {
  const Region<device> region;
  return attention_forward(problem, region.cast(query), region.cast(key),
                           value ? std::optional(region.cast(*value)) : std::nullopt, terms);
}

template <c10::DeviceType device>
LossForward loss_autocast(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                          const at::Tensor& scale, const std::optional<at::Tensor>& bias,
                          std::optional<double> soft_cap, bool exclude_self) {
  const Region<device> region;
  return softmax_loss_forward(region.cast(query), region.cast(key), target, scale, bias, soft_cap, exclude_self);
}

template <c10::DeviceType device>
LossTotal total_autocast(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                         const at::Tensor& scale, const std::optional<at::Tensor>& bias, const at::Tensor& weights,
                         std::optional<double> soft_cap, bool exclude_self, double loss_factor, double partition_factor,
                         double square_factor, bool form_gradients) {
  const Region<device> region;
  // In float16, gradients would underflow before an upstream gradient scales them up.
  form_gradients = form_gradients && region.type != at::kHalf;
  return softmax_loss_total(region.cast(query), region.cast(key), target, scale, bias, weights, soft_cap, exclude_self,
                            loss_factor, partition_factor, square_factor, form_gradients);
}

template <c10::DeviceType device>
TargetScore target_score_autocast(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                                  const std::optional<at::Tensor>& ids, const std::optional<at::Tensor>& bias,
                                  const at::Tensor& counted, std::optional<double> soft_cap, double temperature,
                                  bool logits) {
  const Region<device> region;
  return target_score(region.cast(query), region.cast(key), target, ids, bias, counted, soft_cap, temperature, logits);
}

template <c10::DeviceType device>
void add(torch::Library& library) {
  library.impl("attention", attention_autocast<device>);
  library.impl("softmax_loss", loss_autocast<device>);
  library.impl("softmax_loss_total", total_autocast<device>);
  library.impl("target_score", target_score_autocast<device>);
}

TORCH_LIBRARY_IMPL(isentropic, AutocastCPU, library) { add<c10::kCPU>(library); }
TORCH_LIBRARY_IMPL(isentropic, AutocastCUDA, library) { add<c10::kCUDA>(library); }

}  // namespace
}  // namespace isentropic::pytorch
