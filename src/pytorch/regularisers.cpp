// Means of entropies with their gradients.
#include "isentropic/pytorch/regularisers.hpp"

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <cmath>

namespace isentropic::pytorch {
namespace {

const at::Tensor& statistic_of(const std::map<std::string, at::Tensor>& layer, const std::string& name) {
  const auto found = layer.find(name);
  TORCH_CHECK_VALUE(found != layer.end(), "statistics have no ", name, "; expected it among those asked for");
  return found->second;
}

// A term without a gradient would be added to the loss with no effect.
void require_gradient(const char* name, const at::Tensor& x, const char* where_from) {
  TORCH_CHECK_VALUE(!at::GradMode::is_enabled() || x.requires_grad(), name, " has no gradient; expected ", where_from,
                    ", or NoGradGuard around an evaluation");
}

void require_weight(const char* name, double value) {
  TORCH_CHECK_VALUE(std::isfinite(value) && value >= 0, name, " is ", value,
                    "; expected a number >= 0 (the signs are in the formula)");
}

}  // namespace

at::Tensor mean_over_rows(const std::map<std::string, at::Tensor>& layer, const std::string& statistic) {
  const at::Tensor counts = statistic_of(layer, "visible") >= 2;
  const at::Tensor kept = at::where(counts, statistic_of(layer, statistic), 0.0);
  return kept.sum(at::IntArrayRef{0, 2}) / counts.sum(at::IntArrayRef{0, 2}).clamp_min(1);
}

at::Tensor entropy_regulariser(const LayerStatistics& layers, const EntropyRegulariserOptions& options) {
  TORCH_CHECK_VALUE(std::isfinite(options.weight) && options.weight >= 0, "weight is ", options.weight,
                    "; expected a number >= 0 (direction has the sign)");
  TORCH_CHECK_VALUE(!layers.empty(), "layers are none; expected the statistics of one attention or more");
  std::vector<at::Tensor> means;
  const char* name = options.normalised ? "normalised_entropy" : "entropy";
  for (const auto& layer : layers) {
    require_gradient(name, statistic_of(layer, name), "that of an attention with parameters that learn");
    means.push_back(mean_over_rows(layer, name).mean());
  }
  return at::stack(means).mean() * (options.direction == Direction::encourage ? -options.weight : options.weight);
}

at::Tensor information_bottleneck_loss(const at::Tensor& task_loss, const at::Tensor& information_xz,
                                       const at::Tensor& information_zy, const InformationBottleneckOptions& options) {
  require_weight("lambda_x", options.lambda_x);
  require_weight("lambda_y", options.lambda_y);
  const char* where_from = "an estimate that depends on parameters which learn";
  if (options.lambda_x > 0) require_gradient("information_xz", information_xz, where_from);
  if (options.lambda_y > 0) require_gradient("information_zy", information_zy, where_from);
  return task_loss + options.lambda_x * information_xz - options.lambda_y * information_zy;
}

at::Tensor gaussian_information_upper_bound(const at::Tensor& mean, const at::Tensor& log_variance) {
  TORCH_CHECK_VALUE(mean.sizes() == log_variance.sizes(), "log_variance has shape ", log_variance.sizes(),
                    "; expected ", mean.sizes(), ", as the mean");
  // expm1: for variances near 1, exp(log_variance) - 1 and log_variance nearly cancel.
  return 0.5 * (mean.square() + log_variance.expm1() - log_variance).sum(-1).mean();
}

}  // namespace isentropic::pytorch
