// Cross-entropy and the entropy regulariser from C++, as functions and modules, against PyTorch's own operators.
#include "isentropic/pytorch/losses.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
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
  const auto found = linear_cross_entropy(
      x.input, x.weight, x.target, {.bias = x.bias, .scale = 0.7, .soft_cap = 3.0, .reduction = Reduction::none});
  EXPECT_TRUE(at::allclose(found.loss, expected, 1e-12, 1e-12)) << found.loss << expected;
  const at::Tensor p = at::softmax(logits, -1);
  EXPECT_TRUE(at::allclose(found.entropy, -(p * p.log()).sum(-1), 1e-12, 1e-12));
  const auto gradients = torch::autograd::grad({found.loss.sum()}, {x.input, x.weight, x.bias});
  const auto wanted = torch::autograd::grad({expected.sum()}, {x.input, x.weight, x.bias});
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(at::allclose(gradients[i], wanted[i], 1e-10, 1e-12)) << i;
}

TEST(LinearCrossEntropy, TheMeanIsOverTheRowsThatCount) {
  torch::manual_seed(4);
  const Classes x;
  const auto rows =
      linear_cross_entropy(x.input, x.weight, x.target, {.bias = x.bias, .scale = 0.7, .reduction = Reduction::none});
  const auto found = linear_cross_entropy(x.input, x.weight, x.target, {.bias = x.bias, .scale = 0.7});
  const at::Tensor expected = rows.loss.sum() / 6;
  EXPECT_TRUE(at::allclose(found.loss, expected, 1e-12, 1e-12)) << found.loss << expected;
  EXPECT_TRUE(at::equal(found.entropy, rows.entropy));
  const auto gradients = torch::autograd::grad({found.loss}, {x.input, x.weight, x.bias});
  const auto wanted = torch::autograd::grad({expected}, {x.input, x.weight, x.bias});
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(at::allclose(gradients[i], wanted[i], 1e-10, 1e-12)) << i;
}

// Against PyTorch's label smoothing of explicit logits; every reduction, learnt and fixed weights.
TEST(LinearCrossEntropy, SmoothsWeighsAndHoldsTheLogPartition) {
  torch::manual_seed(5);
  const Classes x;
  const at::Tensor fixed = torch::tensor({1.0, 0.0, 2.0, 1.0, 0.5, 0.0, 1.0}, at::kDouble);
  for (const std::optional<double> cap : {std::optional<double>(), std::optional<double>(3.0)}) {
    at::Tensor logits = 0.7 * at::matmul(x.input, x.weight.t());
    if (cap) logits = *cap * at::tanh(logits / *cap);
    logits = logits + x.bias;
    const at::Tensor smoothed = at::cross_entropy_loss(logits, x.target, {}, at::Reduction::None, -100, 0.1);
    const at::Tensor counted = x.target.ne(-100).to(at::kDouble);
    const at::Tensor each = smoothed + 0.01 * counted * at::logsumexp(logits, {1}).square();
    for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean})
      for (const bool learnt : {false, true}) {
        at::Tensor weight = fixed.clone().requires_grad_(learnt);
        at::Tensor expected = each * weight;
        if (reduction != Reduction::none) expected = expected.sum();
        if (reduction == Reduction::mean) expected = expected / (weight * counted).sum();
        const Loss found = linear_cross_entropy(x.input, x.weight, x.target,
                                                {.bias = x.bias,
                                                 .scale = 0.7,
                                                 .soft_cap = cap,
                                                 .label_smoothing = 0.1,
                                                 .z_loss = 0.01,
                                                 .example_weight = weight,
                                                 .reduction = reduction});
        EXPECT_TRUE(at::allclose(found.loss, expected, 1e-12, 1e-12)) << found.loss << expected;
        std::vector<at::Tensor> inputs = {x.input, x.weight, x.bias};
        if (learnt) inputs.push_back(weight);
        auto gradients = torch::autograd::grad({found.loss.sum()}, inputs);
        auto wanted = torch::autograd::grad({expected.sum()}, inputs, {}, true);
        if (learnt)  // rows of weight 0 are skipped, so their weights have no gradient
          for (auto* list : {&gradients, &wanted}) (*list)[3] = (*list)[3] * fixed.ne(0);
        for (std::size_t i = 0; i < wanted.size(); ++i)
          EXPECT_TRUE(at::allclose(gradients[i], wanted[i], 1e-10, 1e-12)) << i;
      }
  }
}

// Two classes, each the target of half of the rows and correct with odds of e^2 to 1: log 2 - log(1 + e^-2).
TEST(LinearCrossEntropy, BoundsTheInformationAboutItsTargets) {
  const at::Tensor input = torch::tensor({{2.0, 0.0}, {0.0, 2.0}, {0.0, 0.0}}, at::kDouble);
  const at::Tensor target = torch::tensor({0, 1, -100}, at::kLong);
  const Loss found = linear_cross_entropy(input, torch::eye(2, at::kDouble), target);
  EXPECT_NEAR(found.ceiling.item<double>(), std::log(2.0), 1e-12);
  EXPECT_NEAR(found.bound.item<double>(), std::log(2.0) - std::log1p(std::exp(-2.0)), 1e-12);
  const Loss known = linear_cross_entropy(input, torch::eye(2, at::kDouble), target, {.source_entropy = 0.5});
  EXPECT_NEAR((known.bound - found.bound).item<double>(), 0.5 - std::log(2.0), 1e-12);
}

TEST(LinearCrossEntropy, PredictsTheNextTokenOrThoseThatAreMasked) {
  torch::manual_seed(6);
  const at::Tensor hidden = torch::randn({2, 4, 5}, at::kDouble), weight = torch::randn({11, 5}, at::kDouble);
  const at::Tensor tokens = torch::randint(0, 11, {2, 4});
  const at::Tensor logits = at::matmul(hidden, weight.t());
  const auto expected = [](const at::Tensor& x, const at::Tensor& y) {
    return at::cross_entropy_loss(x.reshape({-1, 11}), y.reshape({-1}));
  };
  EXPECT_TRUE(at::allclose(causal_lm_loss(hidden, weight, tokens).loss,
                           expected(logits.slice(1, 0, 3), tokens.slice(1, 1)), 1e-12, 1e-12));
  const at::Tensor masked = torch::tensor({{1, 0, 0, 1}, {0, 1, 0, 0}}, at::kBool);
  const Loss found = masked_lm_loss(hidden, weight, tokens, masked);
  EXPECT_EQ(found.entropy.numel(), 3);
  EXPECT_TRUE(at::allclose(found.loss,
                           expected(at::stack({logits[0][0], logits[0][3], logits[1][1]}),
                                    at::stack({tokens[0][0], tokens[0][3], tokens[1][1]})),
                           1e-12, 1e-12));
}

TEST(LinearCrossEntropy, RefusesWhatDoesNotFit) {
  const Classes x;
  EXPECT_THROW(linear_cross_entropy(x.input, x.weight, x.target, {.label_smoothing = 1.5}), c10::ValueError);
  EXPECT_THROW(linear_cross_entropy(x.input, x.weight, x.target, {.z_loss = -1}), c10::ValueError);
  EXPECT_THROW(linear_cross_entropy(x.input, x.weight, x.target, {.example_weight = torch::ones({6})}),
               c10::ValueError);
  EXPECT_THROW(linear_cross_entropy(x.input, torch::randn({11, 4}, at::kDouble), x.target), c10::ValueError);
  EXPECT_THROW(linear_cross_entropy(x.input, x.weight, x.target.narrow(0, 0, 6)), c10::ValueError);
  EXPECT_THROW(linear_cross_entropy(x.input, x.weight, x.target.to(at::kInt)), c10::TypeError);
  EXPECT_THROW(linear_cross_entropy(x.input, x.weight, torch::full({7}, 11, at::kLong)), c10::ValueError);
}

TEST(LinearCrossEntropy, TakesRowsOfAnyShape) {
  torch::manual_seed(2);
  const Classes x;
  const LinearCrossEntropyOptions each{.reduction = Reduction::none};
  const auto flat = linear_cross_entropy(x.input.narrow(0, 0, 6), x.weight, x.target.narrow(0, 0, 6), each);
  const auto found = linear_cross_entropy(x.input.narrow(0, 0, 6).view({2, 3, 5}), x.weight,
                                          x.target.narrow(0, 0, 6).view({2, 3}), each);
  EXPECT_TRUE(at::equal(found.loss, flat.loss.view({2, 3})));
  EXPECT_TRUE(at::equal(found.entropy, flat.entropy.view({2, 3})));
}

TEST(LinearCrossEntropy, ModulesCallTheFunction) {
  torch::manual_seed(3);
  const Classes x;
  const LinearCrossEntropyModuleOptions options{
      .width = 5, .classes = 11, .bias = true, .scale = 0.7, .soft_cap = 3.0, .ignore_index = 3, .z_loss = 0.1};
  LinearCrossEntropy layer(options);
  layer->to(at::kDouble);
  const at::Tensor target = at::where(x.target < 0, 3, x.target);
  const auto by_function = [&](const at::Tensor& weight, const at::Tensor& bias) {
    return linear_cross_entropy(x.input, weight, target,
                                {.bias = bias, .scale = 0.7, .soft_cap = 3.0, .ignore_index = 3, .z_loss = 0.1});
  };
  const auto found = layer(x.input, target);
  EXPECT_TRUE(at::equal(found.loss, by_function(layer->weight, layer->bias).loss));
  found.loss.backward();
  EXPECT_EQ(layer->named_parameters().keys(), (std::vector<std::string>{"weight", "bias"}));
  for (const at::Tensor& parameter : layer->parameters()) EXPECT_GT(parameter.grad().abs().max().item<double>(), 0.01);

  LinearCrossEntropy copy(std::dynamic_pointer_cast<LinearCrossEntropyImpl>(layer->clone())), read(options);
  read->to(at::kDouble);
  std::stringstream file;
  torch::save(layer, file);
  torch::load(read, file);
  EXPECT_TRUE(at::equal(copy(x.input, target).loss, found.loss));
  EXPECT_TRUE(at::equal(read(x.input, target).loss, found.loss));
}

TEST(LinearCrossEntropy, ATiedWeightIsAnothersAndLearns) {
  torch::manual_seed(4);
  const Classes x;
  LinearCrossEntropy layer(LinearCrossEntropyModuleOptions{.width = 5, .classes = 11, .bias = true, .tied = true});
  layer->to(at::kDouble);
  EXPECT_EQ(layer->named_parameters().keys(), std::vector<std::string>{"bias"});
  const auto found = layer(x.input, x.target, x.weight);
  EXPECT_TRUE(at::equal(found.loss, linear_cross_entropy(x.input, x.weight, x.target, {.bias = layer->bias}).loss));
  found.loss.backward();
  EXPECT_TRUE(x.weight.grad().defined());
}

// Rows that see only one key have no choice and do not count: (0.5 + 0.7) / 2 and (0.2 + 0.4) / 2 are the means of the
// two heads.
TEST(EntropyRegulariser, IsTheMeanOverRowsThatHaveAChoice) {
  const at::Tensor entropy = torch::tensor({{{0.0, 0.5, 0.7}, {0.0, 0.2, 0.4}}}, at::kDouble).requires_grad_();
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
  const LayerStatistics detached = {{{"normalised_entropy", entropy.detach()}, {"visible", visible}}};
  EXPECT_THROW(entropy_regulariser(detached), c10::ValueError);
  const at::NoGradGuard evaluation;
  EXPECT_NEAR(entropy_regulariser(detached, {.weight = 2}).item<double>(), -0.9, 1e-12);
}

TEST(InformationBottleneckLoss, AddsAndTakesOffBounds) {
  const at::Tensor task = torch::tensor(1.0, at::kDouble), xz = torch::tensor(3.0, at::kDouble).requires_grad_(),
                   zy = torch::tensor(2.0, at::kDouble).requires_grad_();
  const at::Tensor loss = information_bottleneck_loss(task, xz, zy, {.lambda_x = 0.5, .lambda_y = 0.25});
  EXPECT_DOUBLE_EQ(loss.item<double>(), 1 + 1.5 - 0.5);
  loss.backward();
  EXPECT_DOUBLE_EQ(xz.grad().item<double>(), 0.5);
  EXPECT_DOUBLE_EQ(zy.grad().item<double>(), -0.25);
  EXPECT_THROW(information_bottleneck_loss(task, xz, zy, {.lambda_x = -1}), c10::ValueError);
  EXPECT_THROW(information_bottleneck_loss(task, xz.detach(), zy, {.lambda_x = 1}), c10::ValueError);
  EXPECT_NO_THROW(information_bottleneck_loss(task, xz.detach(), zy, {.lambda_y = 1}));
}

TEST(GaussianInformationUpperBound, ByHand) {
  const at::Tensor mean = torch::tensor({{1.0, 0.0}, {0.0, 0.0}}, at::kDouble);
  const at::Tensor log_variance = torch::tensor({{0.0, 0.0}, {0.0, std::log(2.0)}}, at::kDouble);
  const double expected = (0.5 + 0.5 * (2 - 1 - std::log(2.0))) / 2;
  EXPECT_NEAR(gaussian_information_upper_bound(mean, log_variance).item<double>(), expected, 1e-12);
  EXPECT_THROW(gaussian_information_upper_bound(mean, log_variance[0]), c10::ValueError);
}

}  // namespace
}  // namespace isentropic::pytorch
