// Cross-entropy over the rows of a matrix, from C++: checks and ignored rows around the operator softmax_loss.
#include <cmath>

#include "isentropic/pytorch/losses.hpp"
#include "pytorch/loss_rows.hpp"

namespace isentropic::pytorch {

LinearCrossEntropyOutput linear_cross_entropy(const at::Tensor& input, const at::Tensor& weight,
                                              const at::Tensor& target, const LinearCrossEntropyOptions& options) {
  TORCH_CHECK_VALUE(input.dim() >= 1, "input has shape ", input.sizes(), "; expected [..., width]");
  const at::IntArrayRef rows = input.sizes().slice(0, input.dim() - 1);
  const std::int64_t width = input.size(-1);
  TORCH_CHECK_VALUE(weight.dim() == 2 && weight.size(1) == width, "weight has shape ", weight.sizes(),
                    "; expected [classes, ", width, "]");
  TORCH_CHECK_VALUE(target.sizes() == rows, "target has shape ", target.sizes(), "; expected ", rows);
  TORCH_CHECK_TYPE(target.scalar_type() == at::kLong, "target has type ", target.scalar_type(), "; expected int64");
  const at::Tensor ignored = target == options.ignore_index;
  // A class out of range fails in the operator; -1 there means no class at all.
  const at::Tensor wanted = at::where(ignored, -1, at::where(target < 0, -2, target));
  const at::Tensor scale = at::scalar_tensor(options.scale, input.options().dtype(at::kDouble));
  const at::Tensor flat = input.reshape({target.numel(), width});
  const auto bias = options.bias.defined() ? std::optional(options.bias) : std::nullopt;
  if (options.mean) {
    const at::Tensor counted =
        ignored.logical_not().flatten().to(input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
    const auto found = softmax_loss_total(flat, weight, wanted.flatten(), scale, bias,
                                          counted / counted.sum().clamp_min(1), options.soft_cap, false, 1.0, 0.0, 0.0,
                                          forms_gradients(input, {input, weight, options.bias}));
    return {std::get<0>(found), std::get<3>(found).view(rows)};
  }
  const auto [losses, log_partition, entropy, records] =
      softmax_loss_forward(flat, weight, wanted.flatten(), scale, bias, options.soft_cap, false);
  return {at::where(ignored, 0.0, losses.view(rows)), entropy.view(rows)};
}

LinearCrossEntropyImpl::LinearCrossEntropyImpl(LinearCrossEntropyModuleOptions given) : options(given) {
  TORCH_CHECK_VALUE(options.width >= 1, "width is ", options.width, "; expected at least 1");
  TORCH_CHECK_VALUE(options.classes >= 1, "classes is ", options.classes, "; expected at least 1");
  reset();
}

void LinearCrossEntropyImpl::reset() {
  const double bound = 1 / std::sqrt(static_cast<double>(options.width));
  if (!options.tied)
    weight = register_parameter("weight", at::empty({options.classes, options.width}).uniform_(-bound, bound));
  if (options.bias) bias = register_parameter("bias", at::empty({options.classes}).uniform_(-bound, bound));
}

LinearCrossEntropyOutput LinearCrossEntropyImpl::forward(const at::Tensor& input, const at::Tensor& target,
                                                         const at::Tensor& tied_weight) {
  TORCH_CHECK_VALUE(tied_weight.defined() == options.tied, "tied_weight is ",
                    options.tied ? "absent; expected it, for the module has no weight"
                                 : "given; expected none, for the module has its own weight");
  return linear_cross_entropy(input, options.tied ? tied_weight : weight, target,
                              {.bias = bias,
                               .scale = options.scale,
                               .soft_cap = options.soft_cap,
                               .ignore_index = options.ignore_index,
                               .mean = options.mean});
}

}  // namespace isentropic::pytorch
