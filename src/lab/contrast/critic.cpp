// Builds the towers and scores pairs with them.
#include "lab/contrast/critic.hpp"

#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/linear.h>

#include <cmath>

#include "isentropic/error.hpp"

namespace isentropic::lab::contrast {
namespace {

torch::nn::Sequential tower(const CriticOptions& options) {
  return torch::nn::Sequential(torch::nn::Linear(options.inputs, options.hidden), torch::nn::ReLU(),
                               torch::nn::Linear(options.hidden, options.hidden), torch::nn::ReLU(),
                               torch::nn::Linear(options.hidden, options.outputs));
}

}  // namespace

CriticKind critic_named(const std::string& name) {
  if (name == "shared") return CriticKind::shared;
  if (name == "two-tower") return CriticKind::two_tower;
  if (name == "cosine") return CriticKind::cosine;
  throw Error("critic", "'" + name + "'", "shared, two-tower or cosine");
}

Critic::Critic(const CriticOptions& options) : options_(options) {
  tower_ = register_module("tower", tower(options));
  const bool one = options.kind == CriticKind::shared || options.one_tower;
  other_tower_ = one ? tower_ : register_module("other_tower", tower(options));
  log_temperature_ = at::full({}, std::log(options.temperature));
  if (options.learn_temperature)
    register_parameter("log_temperature", log_temperature_);
  else
    register_buffer("log_temperature", log_temperature_);
}

at::Tensor Critic::embed(const at::Tensor& x) {
  const at::Tensor out = tower_->forward(x);
  return options_.kind == CriticKind::cosine ? out / out.norm(2, 1, true) : out;
}

at::Tensor Critic::embed_other(const at::Tensor& y) {
  const at::Tensor out = other_tower_->forward(y);
  return options_.kind == CriticKind::cosine ? out / out.norm(2, 1, true) : out;
}

pytorch::Loss Critic::loss(const at::Tensor& x, const at::Tensor& y) {
  pytorch::InfoNceOptions options{.temperature = 1.0, .normalise = false};
  if (options_.kind == CriticKind::cosine) options.temperature = log_temperature_.exp();
  return pytorch::info_nce(embed(x), embed_other(y), options);
}

}  // namespace isentropic::lab::contrast
