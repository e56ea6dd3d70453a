// The losses on NVIDIA GPUs: products by PyTorch, chunk by chunk, and the kernels of losses/cuda between them.
//
// Nothing waits for the device, and every sum has a fixed order. Out-of-range targets count as none.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <vector>

#include "pytorch/cuda/loss_sweeps.hpp"
#include "pytorch/losses.hpp"

namespace isentropic::pytorch {
namespace {

using OptionalTensor = std::optional<at::Tensor>;

// The largest upstream gradient. In float16 those of a mean would underflow, so gradients are computed relative to it.
at::Tensor largest_of(const at::Tensor& query, const std::vector<at::Tensor>& gradients) {
  at::Tensor out = at::ones({1}, query.options().dtype(at::kFloat));
  if (query.scalar_type() != at::kHalf) return out;
  out.zero_();
  for (const at::Tensor& x : gradients)
    if (x.defined()) out = at::maximum(out, x.abs().nan_to_num(0, 0, 0).amax().reshape({1}));
  return at::where(out.gt(0), out, 1.0);
}

bool loss_kernels_take(const at::Tensor& query, const at::Tensor& key) {
  const at::ScalarType type = query.scalar_type();
  const bool fits = query.dim() == 2 && key.dim() == 2 && query.numel() > 0 && key.numel() > 0 &&
                    key.scalar_type() == type && (type == at::kBFloat16 || type == at::kHalf || type == at::kFloat);
  int major = 0;
  return fits && cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, query.get_device()) == cudaSuccess &&
         major >= 8;
}

LossForward loss_forward_cuda(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                              const at::Tensor& scale, const OptionalTensor& bias, std::optional<double> soft_cap,
                              bool exclude_self) {
  const at::AutoDispatchBelowADInplaceOrView below;
  LossSweeps pass(query, key, target, scale, bias, soft_cap, exclude_self);
  pass.make_rows();
  pass.find_records();
  return pass.rows();
}

LossBackward loss_backward_cuda(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                                const at::Tensor& scale, const OptionalTensor& bias, std::optional<double> soft_cap,
                                bool exclude_self, const at::Tensor& loss, const at::Tensor& records,
                                const OptionalTensor& loss_gradient, const OptionalTensor& log_partition_gradient,
                                const OptionalTensor& entropy_gradient) {
  const at::AutoDispatchBelowADInplaceOrView below;
  LossSweeps pass(query, key, target, scale, bias, soft_cap, exclude_self);
  pass.set_rows(loss.contiguous(), {}, {}, records.contiguous());
  const auto given = [](const OptionalTensor& x) { return x ? x->to(at::kFloat).contiguous() : at::Tensor(); };
  const at::Tensor of_loss = given(loss_gradient), of_log_partition = given(log_partition_gradient),
                   of_entropy = given(entropy_gradient);
  cuda::LossUpstream upstream;
  upstream.loss = floats_of(of_loss), upstream.log_partition = floats_of(of_log_partition);
  upstream.entropy = floats_of(of_entropy);
  return pass.gradients(upstream, largest_of(query, {of_loss, of_log_partition, of_entropy}), false);
}

LossTotal loss_total_cuda(const at::Tensor& query, const at::Tensor& key, const at::Tensor& target,
                          const at::Tensor& scale, const OptionalTensor& bias, const at::Tensor& weights,
                          std::optional<double> soft_cap, bool exclude_self, double loss_factor,
                          double partition_factor, double square_factor, bool form_gradients) {
  if (!form_gradients)
    return loss_total_by_rows(query, key, target, scale, bias, weights, soft_cap, exclude_self, loss_factor,
                              partition_factor, square_factor, false);
  const at::AutoDispatchBelowADInplaceOrView below;
  TORCH_CHECK_VALUE(weights.dim() == 1 && weights.size(0) == query.size(0) && weights.device() == query.device(),
                    "weights has shape ", weights.sizes(), " on ", weights.device(), "; expected [", query.size(0),
                    "] on ", query.device());
  LossSweeps pass(query, key, target, scale, bias, soft_cap, exclude_self);
  pass.make_rows();
  const at::Tensor of_rows = weights.to(at::kFloat).contiguous();
  cuda::LossUpstream upstream;
  upstream.weights = floats_of(of_rows);
  upstream.loss_factor = static_cast<float>(loss_factor);
  upstream.partition_factor = static_cast<float>(partition_factor);
  upstream.square_factor = static_cast<float>(square_factor);
  const auto [d_query, d_key, d_scale, d_bias] = pass.gradients(upstream, largest_of(query, {of_rows}), true);
  const auto [loss, log_partition, entropy, records] = pass.rows();
  return {total_of_rows(of_rows, loss, log_partition, loss_factor, partition_factor, square_factor),
          loss,
          log_partition,
          entropy,
          records,
          d_query,
          d_key,
          d_scale,
          d_bias};
}

constexpr CudaLosses kLossKernels = {loss_kernels_take, loss_forward_cuda, loss_backward_cuda, loss_total_cuda};
[[maybe_unused]] const bool losses_announced = (cuda_losses() = &kLossKernels, true);

}  // namespace
}  // namespace isentropic::pytorch
