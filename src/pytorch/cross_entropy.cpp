// Cross-entropy over the rows of a matrix, from C++: checks, ignored rows and smoothing around the operators
// softmax_loss and softmax_loss_total.
#include <cmath>

#include "isentropic/pytorch/attention.hpp"
#include "isentropic/pytorch/losses.hpp"
#include "pytorch/loss_rows.hpp"

namespace isentropic::pytorch {
namespace {

void check(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& target,
           const LinearCrossEntropyOptions& options) {
  TORCH_CHECK_VALUE(input.dim() >= 1, "input has shape ", input.sizes(), "; expected [..., width]");
  TORCH_CHECK_VALUE(weight.dim() == 2 && weight.size(1) == input.size(-1), "weight has shape ", weight.sizes(),
                    "; expected [classes, ", input.size(-1), "]");
  const at::IntArrayRef rows = input.sizes().slice(0, input.dim() - 1);
  TORCH_CHECK_VALUE(target.sizes() == rows, "target has shape ", target.sizes(), "; expected ", rows);
  TORCH_CHECK_TYPE(target.scalar_type() == at::kLong, "target has type ", target.scalar_type(), "; expected int64");
  const at::Tensor& each = options.example_weight;
  TORCH_CHECK_VALUE(!each.defined() || each.sizes() == rows, "example_weight has shape ",
                    each.defined() ? each.sizes() : rows, "; expected ", rows);
  TORCH_CHECK_VALUE(options.label_smoothing >= 0 && options.label_smoothing <= 1, "label_smoothing is ",
                    options.label_smoothing, "; expected a number in [0, 1]");
  TORCH_CHECK_VALUE(options.z_loss >= 0, "z_loss is ", options.z_loss, "; expected a number >= 0");
}

// The mean over all classes, [N]. Linear without a cap; with one it is attention with weights s / classes and values 1.
at::Tensor mean_scores(const at::Tensor& rows, const at::Tensor& weight, const LinearCrossEntropyOptions& options) {
  at::Tensor mean;
  if (options.soft_cap) {
    const at::Tensor ones = at::ones({1, 1, weight.size(0), 1}, rows.options());
    const AttentionOptions call{
        .scale = Scale::constant(options.scale), .map = ScoreMap::identity(), .soft_cap = options.soft_cap};
    mean = attention(rows.view({1, 1, rows.size(0), rows.size(1)}), weight.view({1, 1, weight.size(0), weight.size(1)}),
                     ones, call)
               .output.flatten();
  } else {
    mean = options.scale * at::matmul(rows, weight.mean(0));
  }
  mean = mean.to(statistics_type(rows));
  return options.bias.defined() ? mean + options.bias.mean() : mean;
}

// The plug-in entropy of the classes of counted rows.
at::Tensor entropy_of(const at::Tensor& targets, const at::Tensor& counted, std::int64_t classes, at::ScalarType type) {
  const at::Tensor known = counted.logical_and(targets.ge(0)).logical_and(targets.lt(classes));
  const at::Tensor ones = known.to(type);
  const at::Tensor counts =
      at::zeros({classes}, ones.options()).index_add(0, at::where(known, targets, 0), ones) / ones.sum().clamp_min(1);
  return at::special_entr(counts).sum();
}

}  // namespace

Loss linear_cross_entropy(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& target,
                          const LinearCrossEntropyOptions& options) {
  check(input, weight, target, options);
  const double smoothing = options.label_smoothing;
  const at::Tensor rows = input.reshape({target.numel(), input.size(-1)}), targets = target.flatten();
  const at::ScalarType wide = statistics_type(rows);
  const at::Tensor known = targets.ne(options.ignore_index);
  // The operator rejects classes out of range, and takes -1 to mean no class at all.
  const at::Tensor wanted = at::where(known, at::where(targets < 0, -2, targets), -1);
  const at::Tensor weights =
      options.example_weight.defined() ? known.to(wide) * options.example_weight.flatten().to(wide) : known.to(wide);
  // A row that is not counted may contain NaN or Inf: it must not enter any product, forward or backward.
  const at::Tensor counted = weights.ne(0);
  const at::Tensor scale = number_like(options.scale, rows);
  const auto bias = if_defined(options.bias);
  const at::Tensor means =
      smoothing > 0 ? mean_scores(at::where(counted.unsqueeze(1), rows, 0.0), weight, options) : at::Tensor();

  at::Tensor loss, plain, entropy;
  if (options.reduction == Reduction::none || weights.requires_grad()) {
    const auto found = softmax_loss_forward(rows, weight, wanted, scale, bias, options.soft_cap, false);
    plain = at::where(counted, std::get<0>(found), 0.0), entropy = std::get<2>(found);
    const at::Tensor log_partition = at::where(counted, std::get<1>(found), 0.0);
    at::Tensor losses = plain;
    if (smoothing > 0) losses = (1 - smoothing) * losses + smoothing * (log_partition - means);
    if (options.z_loss > 0) losses = losses + options.z_loss * log_partition.square();
    loss = reduced_rows(losses, weights, options.reduction);
  } else {
    const at::Tensor each = weights_of_rows(weights, options.reduction);
    const auto found =
        softmax_loss_total(rows, weight, wanted, scale, bias, each, options.soft_cap, false, 1 - smoothing, smoothing,
                           options.z_loss, forms_gradients(rows, {rows, weight, options.bias}));
    loss = std::get<0>(found), plain = at::where(counted, std::get<1>(found), 0.0), entropy = std::get<3>(found);
    if (smoothing > 0) loss = loss - smoothing * at::where(counted, each * means, 0.0).sum();
  }
  const at::Tensor ceiling = options.source_entropy ? number_like(*options.source_entropy, rows)
                                                    : entropy_of(targets, counted, weight.size(0), wide);
  const at::Tensor bound = ceiling - plain.detach().sum() / counted.sum().clamp_min(1);
  return {options.reduction == Reduction::none ? loss.view(target.sizes()) : loss, entropy.view(target.sizes()), bound,
          ceiling};
}

Loss causal_lm_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& tokens,
                    const LinearCrossEntropyOptions& options) {
  return linear_cross_entropy(hidden.slice(1, 0, -1), weight, tokens.slice(1, 1), options);
}

Loss masked_lm_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& tokens,
                    const at::Tensor& masked, const LinearCrossEntropyOptions& options) {
  const c10::List<std::optional<at::Tensor>> places({masked.to(at::kBool)});
  return linear_cross_entropy(at::index(hidden, places), weight, at::index(tokens, places), options);
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

Loss LinearCrossEntropyImpl::forward(const at::Tensor& input, const at::Tensor& target, const at::Tensor& tied_weight) {
  TORCH_CHECK_VALUE(tied_weight.defined() == options.tied, "tied_weight is ",
                    options.tied ? "absent; expected it, for the module has no weight"
                                 : "given; expected none, for the module has its own weight");
  return linear_cross_entropy(input, options.tied ? tied_weight : weight, target,
                              {.bias = bias,
                               .scale = options.scale,
                               .soft_cap = options.soft_cap,
                               .ignore_index = options.ignore_index,
                               .label_smoothing = options.label_smoothing,
                               .z_loss = options.z_loss,
                               .reduction = options.reduction});
}

}  // namespace isentropic::pytorch
