// Cross-entropy against soft targets from C++: the log-partitions of softmax_loss minus the scores of target_score.
#include "isentropic/pytorch/losses.hpp"
#include "pytorch/loss_rows.hpp"
#include "pytorch/target_score.hpp"

namespace isentropic::pytorch {

Loss soft_cross_entropy(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& target,
                        const SoftCrossEntropyOptions& options) {
  TORCH_CHECK_VALUE(input.dim() >= 1 && target.dim() == input.dim() &&
                        target.sizes().slice(0, target.dim() - 1) == input.sizes().slice(0, input.dim() - 1),
                    "target has shape ", target.sizes(), "; expected a distribution for each row of ", input.sizes());
  const at::IntArrayRef shape = input.sizes().slice(0, input.dim() - 1);
  const auto matrix = [](const at::Tensor& x) { return x.defined() ? x.reshape({-1, x.size(-1)}) : x; };
  const at::Tensor rows = matrix(input), targets = matrix(target), ids = matrix(options.ids);
  const at::ScalarType wide = statistics_type(rows);
  TORCH_CHECK_VALUE(!options.example_weight.defined() || options.example_weight.sizes() == shape,
                    "example_weight has shape ", options.example_weight.sizes(), "; expected ", shape);
  const at::Tensor weights = options.example_weight.defined() ? options.example_weight.flatten().to(wide)
                                                              : at::ones({rows.size(0)}, rows.options().dtype(wide));
  const at::Tensor counted = weights.ne(0);
  const auto [score, mass, target_entropy, marginal] =
      target_score(rows, weight, targets, if_defined(ids), if_defined(options.bias), counted, options.soft_cap,
                   options.temperature, options.logits);

  const at::Tensor scale = number_like(1 / options.temperature, rows);
  const at::Tensor bias = options.bias.defined() ? options.bias / options.temperature : options.bias;
  const auto cap = options.soft_cap ? std::optional(*options.soft_cap / options.temperature) : std::nullopt;
  const at::Tensor none = at::full({rows.size(0)}, -1, rows.options().dtype(at::kLong));
  at::Tensor loss, losses, entropy;
  if (options.reduction == Reduction::none || weights.requires_grad()) {
    const auto found = softmax_loss_forward(rows, weight, none, scale, if_defined(bias), cap, false);
    losses = at::where(counted, mass * std::get<1>(found) - score, 0.0), entropy = std::get<2>(found);
    loss = reduced_rows(losses, weights, options.reduction);
  } else {
    const at::Tensor each = weights_of_rows(weights, options.reduction);
    const auto found = softmax_loss_total(rows, weight, none, scale, if_defined(bias), each * mass, cap, false, 0.0,
                                          1.0, 0.0, forms_gradients(rows, {rows, weight, bias}));
    loss = std::get<0>(found) - (each * score).sum();
    losses = at::where(counted, mass * std::get<2>(found) - score, 0.0), entropy = std::get<3>(found);
  }
  const at::Tensor total = mass.sum().clamp_min(1e-30);
  const at::Tensor source = at::special_entr(marginal / total).sum();
  const at::Tensor given = (target_entropy + at::special_xlogy(mass, mass)).sum() / total;  // H(t / m), weighted by m
  return {options.reduction == Reduction::none ? loss.view(shape) : loss, entropy.view(shape),
          source - losses.detach().sum() / total, source - given};
}

}  // namespace isentropic::pytorch
