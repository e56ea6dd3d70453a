// The module, and two formulas that studies also use.
#include "isentropic/pytorch/variational_bottleneck.hpp"

#include <ATen/ATen.h>

namespace isentropic::pytorch {
namespace {

// Codes start nearly without noise, sigma = 0.0067: training raises it where that is cheap.
constexpr double kOffset = 5;

}  // namespace

GaussianCode gaussian_code(const at::Tensor& x) {
  const auto parts = x.chunk(2, -1);
  return {parts[0], at::softplus(parts[1] - kOffset)};
}

at::Tensor gaussian_rate(const GaussianCode& code) {
  return 0.5 * (code.mean.square() + code.deviation.square() - 1 - 2 * code.deviation.log()).sum(-1);
}

VariationalBottleneckImpl::VariationalBottleneckImpl(VariationalBottleneckOptions given) : options(given) {
  TORCH_CHECK_VALUE(options.code >= 1, "code is ", options.code, "; expected at least 1");
  TORCH_CHECK_VALUE(options.features.value_or(1) >= 1, "features is ", options.features.value_or(1),
                    "; expected at least 1");
  reset();
}

void VariationalBottleneckImpl::reset() {
  if (options.features) W = register_module("W", torch::nn::Linear(*options.features, 2 * options.code));
}

VariationalBottleneckOutput VariationalBottleneckImpl::forward(const at::Tensor& x, std::optional<bool> sample) {
  const std::int64_t features = options.features.value_or(2 * options.code);
  TORCH_CHECK_VALUE(x.dim() >= 1 && x.size(-1) == features, "x has shape ", x.sizes(), "; expected [..., ", features,
                    "]");
  const GaussianCode code = gaussian_code(W ? W(x) : x);
  const bool drawn = sample.value_or(is_training());
  return {drawn ? code.mean + code.deviation * at::randn_like(code.mean) : code.mean, gaussian_rate(code)};
}

}  // namespace isentropic::pytorch
