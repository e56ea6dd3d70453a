// The controller of kappa: averages of observed entropies and variances, and bounded steps of log kappa.
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>

#include "isentropic/pytorch/regularisers.hpp"

namespace isentropic::pytorch {

TargetEntropyControllerImpl::TargetEntropyControllerImpl(TargetEntropyControllerOptions given)
    : options(std::move(given)) {
  TORCH_CHECK_VALUE(0 < options.smallest_kappa && options.smallest_kappa <= options.kappa &&
                        options.kappa <= options.largest_kappa && std::isfinite(options.largest_kappa),
                    "kappa is ", options.kappa, " between ", options.smallest_kappa, " and ", options.largest_kappa,
                    "; expected 0 < smallest <= kappa <= largest");
  TORCH_CHECK_VALUE(0 < options.rate && options.rate <= 1, "rate is ", options.rate, "; expected a number in (0, 1]");
  TORCH_CHECK_VALUE(0 <= options.momentum && options.momentum < 1, "momentum is ", options.momentum,
                    "; expected a number in [0, 1)");
  TORCH_CHECK_VALUE(options.largest_step > 0, "largest_step is ", options.largest_step, "; expected a positive number");
  const bool reachable = std::all_of(options.target.begin(), options.target.end(), [](double x) { return x >= 0; });
  TORCH_CHECK_VALUE(!options.target.empty() && reachable, "target is ", options.target,
                    "; expected an entropy >= 0 for each head");
  reset();
}

void TargetEntropyControllerImpl::reset() {
  const auto heads = static_cast<std::int64_t>(options.target.size());
  target = register_buffer("target", at::tensor(options.target, at::kFloat));
  log_kappa = register_buffer("log_kappa", at::full({heads}, std::log(options.kappa), at::kFloat));
  entropy = register_buffer("entropy", at::zeros({heads}));
  variance = register_buffer("variance", at::zeros({heads}));
  passes = register_buffer("passes", at::zeros({heads}, at::kLong));
}

void TargetEntropyControllerImpl::to(at::Device device, at::ScalarType, bool non_blocking) {
  Module::to(device, non_blocking);
}

void TargetEntropyControllerImpl::to(at::ScalarType, bool) {}

void TargetEntropyControllerImpl::to(at::Device device, bool non_blocking) { Module::to(device, non_blocking); }

void TargetEntropyControllerImpl::observe(const std::map<std::string, at::Tensor>& layer) {
  const at::NoGradGuard no_gradient;
  const at::Tensor now = mean_over_rows(layer, "entropy"), spread = mean_over_rows(layer, "score_variance");
  const at::Tensor counts = now.isfinite() & spread.isfinite() & (spread > 0);
  const at::Tensor kept = at::where(passes.eq(0), 0.0, options.momentum);
  const auto average = [&](at::Tensor& mean, const at::Tensor& measured) {
    mean.copy_(at::where(counts, kept * mean + (1 - kept) * measured, mean));
  };
  average(entropy, now);
  average(variance, spread);
  passes.add_(counts);
}

void TargetEntropyControllerImpl::step(at::Tensor kappa_in_use) {
  TORCH_CHECK_VALUE(!kappa_in_use.defined() || !kappa_in_use.requires_grad(),
                    "kappa_in_use learns; expected one that does not, which the controller replaces");
  const at::NoGradGuard no_gradient;
  const at::Tensor wanted = options.rate * (entropy - target) / variance;
  log_kappa.add_(at::where(passes > 0, wanted.clamp(-options.largest_step, options.largest_step), 0.0))
      .clamp_(std::log(options.smallest_kappa), std::log(options.largest_kappa));
  if (kappa_in_use.defined()) kappa_in_use.copy_(kappa());
}

}  // namespace isentropic::pytorch
