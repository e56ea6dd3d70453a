// The controller of kappa from C++: a step by hand, convergence to the target, and what it ignores.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <sstream>

#include "isentropic/pytorch/multi_head_attention.hpp"
#include "isentropic/pytorch/regularisers.hpp"

namespace isentropic::pytorch {
namespace {

std::map<std::string, at::Tensor> pass(double entropy, double variance) {
  return {{"entropy", at::full({1, 2, 3}, entropy)},
          {"score_variance", at::full({1, 2, 3}, variance)},
          {"visible", at::full({1, 2, 3}, 4.0)}};
}

TEST(TargetEntropyController, AStepByHand) {
  TargetEntropyController controller(TargetEntropyControllerOptions{.target = {1.0, 4.0}});
  controller->step();
  EXPECT_TRUE(controller->kappa().eq(1).all().item<bool>());  // nothing observed yet
  controller->observe(pass(2.0, 4.0));
  const at::Tensor in_use = at::zeros({2});
  controller->step(in_use);
  // 0.2 (2 - 1) / 4 and 0.2 (2 - 4) / 4.
  EXPECT_TRUE(at::allclose(controller->log_kappa, torch::tensor({0.05, -0.1}, at::kFloat)));
  EXPECT_TRUE(at::equal(in_use, controller->kappa()));
  controller->observe(pass(NAN, 4.0));
  controller->observe(pass(2.0, 0.0));
  EXPECT_TRUE(controller->passes.eq(1).all().item<bool>());
  controller->observe(pass(7.0, 4.0));
  EXPECT_TRUE(at::allclose(controller->entropy, at::full({2}, 3.0)));  // 0.8 * 2 + 0.2 * 7
}

TEST(TargetEntropyController, HeadsArriveAtTheirTargets) {
  torch::manual_seed(1);
  EntropyInvariantAttention layer(
      MultiHeadAttentionOptions{.d_model = 32, .num_heads = 4, .statistics = Statistics::all()});
  const torch::NoGradGuard no_gradient;
  layer->W_Q->weight.mul_(3);
  layer->W_K->weight.mul_(3);
  const at::Tensor x = torch::randn({2, 24, 32});
  const std::vector<double> target = {0.6, 1.2, 2.0, 2.5};
  TargetEntropyController controller(TargetEntropyControllerOptions{.target = target});
  for (int step = 0; step < 60; ++step) {
    controller->observe(layer(x).statistics);
    controller->step(layer->scale_parameters.at("kappa"));
  }
  const at::Tensor entropy = mean_over_rows(layer(x).statistics, "entropy");
  EXPECT_TRUE(at::allclose(entropy, at::tensor(target, at::kFloat), 0.02)) << entropy;

  TargetEntropyController read(TargetEntropyControllerOptions{.target = target});
  std::stringstream file;
  torch::save(controller, file);
  torch::load(read, file);
  EXPECT_TRUE(at::equal(read->kappa(), controller->kappa()));
}

struct ModelWithController : torch::nn::Module {
  torch::nn::Linear layer = register_module("layer", torch::nn::Linear(2, 2));
  TargetEntropyController controller =
      register_module("controller", TargetEntropyController(TargetEntropyControllerOptions{.target = {1.0}}));
};

TEST(TargetEntropyController, KeepsItsStateInFloat32) {
  ModelWithController model;
  for (const at::ScalarType type : {at::kHalf, at::kDouble}) {
    model.to(type);
    EXPECT_EQ(model.layer->weight.scalar_type(), type);
    for (const at::Tensor& state : {model.controller->log_kappa, model.controller->entropy, model.controller->target})
      EXPECT_EQ(state.scalar_type(), at::kFloat);
    EXPECT_EQ(model.controller->passes.scalar_type(), at::kLong);
  }
  model.to(at::kCPU, at::kBFloat16);
  EXPECT_EQ(model.controller->log_kappa.scalar_type(), at::kFloat);
}

TEST(TargetEntropyController, RefusesWhatCannotBe) {
  TargetEntropyController learnt(TargetEntropyControllerOptions{.target = {1.0}});
  EXPECT_THROW(learnt->step(torch::ones({1}).requires_grad_()), c10::ValueError);

  using Options = TargetEntropyControllerOptions;
  EXPECT_THROW(TargetEntropyController(Options{.target = {}}), c10::ValueError);
  EXPECT_THROW(TargetEntropyController(Options{.target = {-1.0}}), c10::ValueError);
  EXPECT_THROW(TargetEntropyController(Options{.target = {1.0}, .kappa = 1e3}), c10::ValueError);
  EXPECT_THROW(TargetEntropyController(Options{.target = {1.0}, .rate = 0}), c10::ValueError);
  EXPECT_THROW(TargetEntropyController(Options{.target = {1.0}, .momentum = 1}), c10::ValueError);
}

}  // namespace
}  // namespace isentropic::pytorch
