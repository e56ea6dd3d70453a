// Cross-entropy over the rows of a matrix, from C++: checks and ignored rows around the operator softmax_loss.
#include "isentropic/pytorch/losses.hpp"
#include "pytorch/errors.hpp"
#include "pytorch/losses.hpp"

namespace isentropic::pytorch {

LinearCrossEntropy linear_cross_entropy(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& target,
                                        const LinearCrossEntropyOptions& options) {
  TORCH_CHECK_VALUE(input.dim() == 2, "input has shape ", input.sizes(), "; expected [rows, width]");
  TORCH_CHECK_VALUE(weight.dim() == 2 && weight.size(1) == input.size(1), "weight has shape ", weight.sizes(),
                    "; expected [classes, ", input.size(1), "]");
  TORCH_CHECK_VALUE(target.dim() == 1 && target.size(0) == input.size(0), "target has shape ", target.sizes(),
                    "; expected [", input.size(0), "]");
  TORCH_CHECK_TYPE(target.scalar_type() == at::kLong, "target has type ", target.scalar_type(), "; expected int64");
  const at::Tensor ignored = target == options.ignore_index;
  // A class out of range fails in the operator; -1 there means no class at all.
  const at::Tensor wanted = at::where(ignored, -1, at::where(target < 0, -2, target));
  const at::Tensor scale = at::scalar_tensor(options.scale, input.options().dtype(at::kDouble));
  const auto [losses, log_partition, entropy, records] = softmax_loss_forward(
      input, weight, wanted, scale, options.bias.defined() ? std::optional(options.bias) : std::nullopt,
      options.soft_cap, false);
  return {at::where(ignored, 0.0, losses), entropy};
}

}  // namespace isentropic::pytorch
