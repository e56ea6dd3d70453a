// linear_cross_entropy and the entropy regulariser from C++, against PyTorch's own operators.
#include "isentropic/pytorch/losses.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

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

TEST(LinearCrossEntropy, RefusesWhatDoesNotFit) {
  const Classes x;
  EXPECT_THROW(linear_cross_entropy(x.input, torch::randn({11, 4}, at::kDouble), x.target), c10::ValueError);
  EXPECT_THROW(linear_cross_entropy(x.input, x.weight, x.target.narrow(0, 0, 6)), c10::ValueError);
  EXPECT_THROW(linear_cross_entropy(x.input, x.weight, x.target.to(at::kInt)), c10::TypeError);
  EXPECT_THROW(linear_cross_entropy(x.input, x.weight, torch::full({7}, 11, at::kLong)), c10::ValueError);
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
  EXPECT_THROW(entropy_regulariser(layers, {.weight = -1}), c10::ValueError);
  EXPECT_THROW(entropy_regulariser({}, {}), c10::ValueError);
  EXPECT_THROW(entropy_regulariser(layers, {.normalised = false}), c10::ValueError);
}

}  // namespace
}  // namespace isentropic::pytorch
