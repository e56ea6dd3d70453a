// AdamW with PyTorch's fused update, on parameter groups with and without decay.
#include "lab/adamw.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <numbers>

namespace isentropic::lab {

AdamW::AdamW(const torch::OrderedDict<std::string, at::Tensor>& parameters, const AdamWOptions& options)
    : options_(options), groups_(2) {
  groups_[0].decay = options.weight_decay;
  groups_[1].decay = 0;
  for (const auto& item : parameters) {
    at::Tensor parameter = item.value();
    parameter.requires_grad_(true);
    Group& group = groups_[parameter.dim() >= 2 ? 0 : 1];
    group.names.push_back(item.key());
    group.parameters.push_back(parameter);
    group.first.push_back(at::zeros_like(parameter));
    group.second.push_back(at::zeros_like(parameter));
    group.steps.push_back(at::zeros({}, parameter.options().dtype(at::kFloat)));
  }
}

void AdamW::zero_gradients() {
  for (Group& group : groups_)
    for (at::Tensor& parameter : group.parameters) parameter.mutable_grad() = at::Tensor();
}

double AdamW::clip_gradients(double limit) {
  std::vector<at::Tensor> gradients;
  for (const Group& group : groups_)
    for (const at::Tensor& parameter : group.parameters)
      if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  const double norm = at::stack(at::_foreach_norm(gradients)).norm().item<double>();
  if (limit > 0 && norm > limit) at::_foreach_mul_(gradients, limit / norm);
  return norm;
}

void AdamW::step(double rate) {
  const at::NoGradGuard no_gradient;
  for (Group& group : groups_) {
    if (group.parameters.empty()) continue;
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& parameter : group.parameters)
      gradients.push_back(parameter.grad().defined() ? parameter.grad() : at::zeros_like(parameter));
    at::_foreach_add_(group.steps, 1);
    at::_fused_adamw_(group.parameters, gradients, group.first, group.second, {}, group.steps, rate, options_.beta1,
                      options_.beta2, group.decay, options_.epsilon, /*amsgrad=*/false, /*maximize=*/false);
  }
}

torch::OrderedDict<std::string, at::Tensor> AdamW::moments() const {
  torch::OrderedDict<std::string, at::Tensor> out;
  for (const Group& group : groups_)
    for (std::size_t i = 0; i < group.names.size(); ++i) {
      out.insert("m." + group.names[i], group.first[i]);
      out.insert("v." + group.names[i], group.second[i]);
    }
  return out;
}

void AdamW::set_steps(std::int64_t steps) {
  for (Group& group : groups_)
    for (at::Tensor& count : group.steps) count.fill_(static_cast<double>(steps));
}

double learning_rate(double rate, std::int64_t step, std::int64_t warmup, std::int64_t steps, double floor) {
  if (step < warmup) return rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const double rest = static_cast<double>(std::max<std::int64_t>(steps - warmup, 1));
  const double share = std::min(1.0, static_cast<double>(step - warmup) / rest);
  return rate * (floor + (1 - floor) * 0.5 * (1 + std::cos(std::numbers::pi * share)));
}

}  // namespace isentropic::lab
