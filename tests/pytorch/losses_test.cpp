// Cross-entropy and the entropy regulariser from C++, functions and modules, against PyTorch's own operators.
#include "isentropic/pytorch/losses.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <sstream>

#include "isentropic/pytorch/regularisers.hpp"

namespace isentropic::pytorch {
namespace {

struct Classes {
  at::Tensor input = torch::randn({7, 5}, at::kDouble).requires_grad_();
  at::Tensor weight = torch::randn({11, 5}, at::kDouble).requires_grad_();
  at::Tensor bias = torch::randn({11}, at::kDouble).requires_grad_();
  at::Tensor target = torch::tensor({0, 10, 3, -100, 3, 7, 1}, at::kLong);
};

TEST(LinearCrossEntropy, IsTheCrossEntropyOfLogitsThatAreNeverHeld) {
  torch::manual_seed(1);
  const Classes x;
  const at::Tensor logits = 3 * at::tanh(0.7 * at::matmul(x.input, x.weight.t()) / 3) + x.bias;
  const at::Tensor expected = at::cross_entropy_loss(logits, x.target, {}, at::Reduction::None);
  const auto found = linear_cross_entropy(x.input, x.weight, x.target, {.bias = x.bias, .scale = 0.7, .soft_cap = 3.0});
  EXPECT_TRUE(at::allclose(found.losses, expected, 1e-12, 1e-12)) << found.losses << expected;
  const at::Tensor p = at::softmax(logits, -1);
  EXPECT_TRUE(at::allclose(found.entropy, -(p * p.log()).sum(-1), 1e-12, 1e-12));
  const auto gradients = torch::autograd::grad({found.losses.sum()}, {x.input, x.weight, x.bias});
  const auto wanted = torch::autograd::grad({expected.sum()}, {x.input, x.weight, x.bias});
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(at::allclose(gradients[i], wanted[i], 1e-10, 1e-12)) << i;
}

TEST(LinearCrossEntropy, TheMeanIsOverTheRowsThatCount) {
  torch::manual_seed(4);
  const Classes x;
  const auto rows = linear_cross_entropy(x.input, x.weight, x.target, {.bias = x.bias, .scale = 0.7});
  const auto found = linear_cross_entropy(x.input, x.weight, x.target, {.bias = x.bias, .scale = 0.7, .mean = true});
  const at::Tensor expected = rows.losses.sum() / 6;
  EXPECT_TRUE(at::allclose(found.losses, expected, 1e-12, 1e-12)) << found.losses << expected;
  EXPECT_TRUE(at::equal(found.entropy, rows.entropy));
  const auto gradients = torch::autograd::grad({found.losses}, {x.input, x.weight, x.bias});
  const auto wanted = torch::autograd::grad({expected}, {x.input, x.weight, x.bias});
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(at::allclose(gradients[i], wanted[i], 1e-10, 1e-12)) << i;
}

TEST(LinearCrossEntropy, RefusesWhatDoesNotFit) {
  const Classes x;
  EXPECT_THROW(linear_cross_entropy(x.input, torch::randn({11, 4}, at::kDouble), x.target), c10::ValueError);
  EXPECT_THROW(linear_cross_entropy(x.input, x.weight, x.target.narrow(0, 0, 6)), c10::ValueError);
  EXPECT_THROW(linear_cross_entropy(x.input, x.weight, x.target.to(at::kInt)), c10::TypeError);
  EXPECT_THROW(linear_cross_entropy(x.input, x.weight, torch::full({7}, 11, at::kLong)), c10::ValueError);
}

TEST(LinearCrossEntropy, TakesRowsOfAnyShape) {
  torch::manual_seed(2);
  const Classes x;
  const auto flat = linear_cross_entropy(x.input.narrow(0, 0, 6), x.weight, x.target.narrow(0, 0, 6));
  const auto found =
      linear_cross_entropy(x.input.narrow(0, 0, 6).view({2, 3, 5}), x.weight, x.target.narrow(0, 0, 6).view({2, 3}));
  EXPECT_TRUE(at::equal(found.losses, flat.losses.view({2, 3})));
  EXPECT_TRUE(at::equal(found.entropy, flat.entropy.view({2, 3})));
}

TEST(LinearCrossEntropy, ModulesCallTheFunction) {
  torch::manual_seed(3);
  const Classes x;
  const LinearCrossEntropyModuleOptions options{
      .width = 5, .classes = 11, .bias = true, .scale = 0.7, .soft_cap = 3.0, .ignore_index = 3};
  LinearCrossEntropy layer(options);
  layer->to(at::kDouble);
  const at::Tensor target = at::where(x.target < 0, 3, x.target);
  const auto by_function = [&](const at::Tensor& weight, const at::Tensor& bias) {
    return linear_cross_entropy(x.input, weight, target,
                                {.bias = bias, .scale = 0.7, .soft_cap = 3.0, .ignore_index = 3});
  };
  const auto found = layer(x.input, target);
  EXPECT_TRUE(at::equal(found.losses, by_function(layer->weight, layer->bias).losses));
  found.losses.sum().backward();
  EXPECT_EQ(layer->named_parameters().keys(), (std::vector<std::string>{"weight", "bias"}));
  for (const at::Tensor& parameter : layer->parameters()) EXPECT_GT(parameter.grad().abs().max().item<double>(), 0.01);

  LinearCrossEntropy copy(std::dynamic_pointer_cast<LinearCrossEntropyImpl>(layer->clone())), read(options);
  read->to(at::kDouble);
  std::stringstream file;
  torch::save(layer, file);
  torch::load(read, file);
  EXPECT_TRUE(at::equal(copy(x.input, target).losses, found.losses));
  EXPECT_TRUE(at::equal(read(x.input, target).losses, found.losses));
}

TEST(LinearCrossEntropy, ATiedWeightIsAnothersAndLearns) {
  torch::manual_seed(4);
  const Classes x;
  LinearCrossEntropy layer(LinearCrossEntropyModuleOptions{.width = 5, .classes = 11, .bias = true, .tied = true});
  layer->to(at::kDouble);
  EXPECT_EQ(layer->named_parameters().keys(), std::vector<std::string>{"bias"});
  const auto found = layer(x.input, x.target, x.weight);
  EXPECT_TRUE(at::equal(found.losses, linear_cross_entropy(x.input, x.weight, x.target, {.bias = layer->bias}).losses));
  found.losses.sum().backward();
  EXPECT_TRUE(x.weight.grad().defined());
}

// Rows that see one key have no choice and do not count: (0.5 + 0.7) / 2 and (0.2 + 0.4) / 2 are the means of two
// heads.
TEST(EntropyRegulariser, IsTheMeanOverRowsThatHaveAChoice) {
  const at::Tensor entropy = torch::tensor({{{0.0, 0.5, 0.7}, {0.0, 0.2, 0.4}}}, at::kDouble);
  const at::Tensor visible = torch::tensor({{{1, 2, 3}, {1, 2, 3}}}, at::kLong);
  const LayerStatistics layers = {{{"normalised_entropy", entropy}, {"visible", visible}}};
  EXPECT_TRUE(at::allclose(mean_over_rows(layers[0], "normalised_entropy"), torch::tensor({0.6, 0.3}, at::kDouble)));
  EXPECT_NEAR(entropy_regulariser(layers, {.weight = 2}).item<double>(), -0.9, 1e-12);
  EXPECT_NEAR(entropy_regulariser(layers, {.weight = 2, .direction = Direction::discourage}).item<double>(), 0.9,
              1e-12);
  EntropyRegulariser module(EntropyRegulariserOptions{.weight = 3, .direction = Direction::discourage});
  EXPECT_NEAR(module(layers).item<double>(), 1.35, 1e-12);
  EXPECT_THROW(entropy_regulariser(layers, {.weight = -1}), c10::ValueError);
  EXPECT_THROW(entropy_regulariser({}, {}), c10::ValueError);
  EXPECT_THROW(entropy_regulariser(layers, {.normalised = false}), c10::ValueError);
}

}  // namespace
}  // namespace isentropic::pytorch
