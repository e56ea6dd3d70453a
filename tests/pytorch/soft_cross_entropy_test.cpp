// Cross-entropy with soft targets from C++, against PyTorch on explicit logits.
#include <cmath>

#include "isentropic/pytorch/losses.hpp"
#include "pytorch/gradients.hpp"

namespace isentropic::pytorch {
namespace {

struct Student {
  at::Tensor input = learnt({6, 5}), weight = learnt({11, 5}), bias = learnt({11});
  at::Tensor teacher = 2 * torch::randn({6, 11}, at::kDouble);

  at::Tensor log_p(double temperature) const {
    return at::log_softmax((3 * at::tanh(at::matmul(input, weight.t()) / 3) + bias) / temperature, -1);
  }
};

TEST(SoftCrossEntropy, ByHand) {
  const at::Tensor input = at::zeros({1, 2}, at::kDouble), weight = at::eye(2, at::kDouble);
  const Loss found = soft_cross_entropy(input, weight, torch::tensor({{0.75, 0.25}}, at::kDouble));
  EXPECT_NEAR(found.loss.item<double>(), std::log(2.0), 1e-12);
  EXPECT_NEAR(found.ceiling.item<double>(), 0, 1e-12);  // a single row distinguishes nothing
  EXPECT_NEAR(found.bound.item<double>(), -0.13081203594113694, 1e-12);
}

TEST(SoftCrossEntropy, ProbabilitiesAndTeachersLogits) {
  torch::manual_seed(1);
  const Student x;
  const at::Tensor t = at::softmax(x.teacher / 2, -1);
  const at::Tensor expected = -(t * x.log_p(2)).sum(-1);
  const SoftCrossEntropyOptions plain{.temperature = 2, .bias = x.bias, .soft_cap = 3.0, .reduction = Reduction::none};
  SoftCrossEntropyOptions by_logits = plain, mean = plain;
  by_logits.logits = true;
  mean.reduction = Reduction::mean;
  const Loss found = soft_cross_entropy(x.input, x.weight, t, plain);
  expect_same(found.loss, expected, {x.input, x.weight, x.bias});
  expect_same(soft_cross_entropy(x.input, x.weight, x.teacher, by_logits).loss, expected, {x.input, x.weight, x.bias});
  const Loss total = soft_cross_entropy(x.input, x.weight, t, mean);
  expect_same(total.loss, expected.mean(), {x.input, x.weight, x.bias});
  const at::Tensor source = at::special_entr(t.mean(0)).sum();
  EXPECT_TRUE(at::allclose(total.bound, source - expected.mean(), 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(total.ceiling, source - at::special_entr(t).sum(-1).mean(), 1e-12, 1e-12));
}

TEST(SoftCrossEntropy, AFewClassesOfEachRow) {
  torch::manual_seed(2);
  const Student x;
  const auto [logits, ids] = x.teacher.topk(3, -1);
  const at::Tensor t = at::softmax(logits, -1);
  const at::Tensor expected = -(t * x.log_p(1).gather(1, ids)).sum(-1);
  const SoftCrossEntropyOptions options{.ids = ids, .bias = x.bias, .soft_cap = 3.0, .reduction = Reduction::none};
  expect_same(soft_cross_entropy(x.input, x.weight, t, options).loss, expected, {x.input, x.weight, x.bias});
  // Half the mass: half the loss, but the same information.
  const Loss whole = soft_cross_entropy(x.input, x.weight, t, options);
  const Loss half = soft_cross_entropy(x.input, x.weight, t / 2, options);
  expect_same(half.loss, expected / 2, {x.input, x.weight, x.bias});
  EXPECT_TRUE(at::allclose(half.bound, whole.bound, 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(half.ceiling, whole.ceiling, 1e-12, 1e-12));
  SoftCrossEntropyOptions by_logits = options;
  by_logits.logits = true;
  by_logits.reduction = Reduction::sum;
  expect_same(soft_cross_entropy(x.input, x.weight, logits, by_logits).loss, expected.sum(),
              {x.input, x.weight, x.bias});
}

TEST(SoftCrossEntropy, RowsOfWeightZeroMayHoldAnything) {
  torch::manual_seed(3);
  const Student x;
  const at::Tensor t = at::softmax(x.teacher, -1), weights = torch::tensor({1.0, 0.0, 2.0, 1.0, 0.0, 0.5}, at::kDouble);
  const at::Tensor input = x.input.detach().clone();
  input[1].fill_(NAN);
  input.requires_grad_();
  const Loss found =
      soft_cross_entropy(input, x.weight, t, {.bias = x.bias, .soft_cap = 3.0, .example_weight = weights});
  const at::Tensor expected = -((t * x.log_p(1)).sum(-1) * weights).sum() / 4.5;
  EXPECT_TRUE(at::allclose(found.loss, expected, 1e-12, 1e-12)) << found.loss << expected;
  const auto gradients = torch::autograd::grad({found.loss}, {x.weight, input});
  EXPECT_TRUE(at::allclose(gradients[0], torch::autograd::grad({expected}, {x.weight})[0], 1e-10, 1e-12));
  EXPECT_TRUE(gradients[1][1].eq(0).all().item<bool>());
}

TEST(SoftCrossEntropy, WeightsOfExamplesLearn) {
  torch::manual_seed(4);
  const Student x;
  const at::Tensor t = at::softmax(x.teacher, -1);
  const at::Tensor weights = torch::tensor({1.0, 0.25, 2.0, 1.0, 3.0, 0.5}, at::kDouble).requires_grad_();
  const at::Tensor each = -(t * x.log_p(1)).sum(-1) * weights;
  for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
    const at::Tensor expected = reduction == Reduction::none  ? each
                                : reduction == Reduction::sum ? each.sum()
                                                              : each.sum() / weights.sum();
    const Loss found = soft_cross_entropy(
        x.input, x.weight, t, {.bias = x.bias, .soft_cap = 3.0, .example_weight = weights, .reduction = reduction});
    expect_same(found.loss, expected, {x.input, x.weight, x.bias, weights});
  }
}

TEST(SoftCrossEntropy, RefusesWhatDoesNotFit) {
  const Student x;
  const at::Tensor t = at::softmax(x.teacher, -1);
  EXPECT_THROW(soft_cross_entropy(x.input, x.weight, t.narrow(1, 0, 10)), c10::ValueError);
  EXPECT_THROW(soft_cross_entropy(x.input, x.weight, t.narrow(0, 0, 5)), c10::ValueError);
  EXPECT_THROW(soft_cross_entropy(x.input, x.weight, t, {.temperature = 0}), c10::ValueError);
  EXPECT_THROW(soft_cross_entropy(x.input, x.weight, t, {.ids = at::full({6, 11}, 11, at::kLong)}), c10::ValueError);
  EXPECT_THROW(soft_cross_entropy(x.input, x.weight, t.detach().requires_grad_()), c10::ValueError);
}

}  // namespace
}  // namespace isentropic::pytorch
