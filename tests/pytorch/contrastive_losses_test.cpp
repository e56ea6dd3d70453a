// InfoNCE and NCE from C++, against PyTorch's operators on the full score matrix.
#include "isentropic/pytorch/contrastive_losses.hpp"

#include "pytorch/gradients.hpp"

namespace isentropic::pytorch {
namespace {

at::Tensor cross_entropy(const at::Tensor& scores, const at::Tensor& positives) {
  return at::cross_entropy_loss(scores, positives, {}, at::Reduction::None);
}

at::Tensor unit(const at::Tensor& x) { return x / x.norm(2, -1, true); }

TEST(InfoNce, ByHand) {
  const at::Tensor pairs = at::eye(2, at::kDouble);
  const Loss found = info_nce(pairs, pairs, {.temperature = 1.0});
  EXPECT_NEAR(found.loss.item<double>(), 0.31326168751822286, 1e-12);
  EXPECT_NEAR(found.ceiling.item<double>(), 0.6931471805599453, 1e-12);
  EXPECT_NEAR(found.bound.item<double>(), 0.6931471805599453 - 0.31326168751822286, 1e-12);
}

TEST(InfoNce, InABatchBothWaysAndReduced) {
  torch::manual_seed(1);
  const at::Tensor q = learnt({7, 4}), k = learnt({7, 4}), temperature = torch::full({}, 0.3, at::kDouble);
  temperature.requires_grad_();
  const at::Tensor pairs = at::arange(7), scores = at::matmul(unit(q), unit(k).t()) / temperature;
  const at::Tensor there = cross_entropy(scores, pairs), back = cross_entropy(scores.t(), pairs);
  const Loss rows = info_nce(q, k, {.temperature = temperature, .reduction = Reduction::none});
  expect_same(rows.loss, there, {q, k, temperature});
  const at::Tensor p = at::softmax(scores, -1);
  expect_same(rows.entropy, -(p * p.log()).sum(-1), {q, k, temperature});
  expect_same(info_nce(q, k, {.temperature = temperature}).loss, there.mean(), {q, k, temperature});
  expect_same(info_nce(q, k, {.temperature = 0.3, .symmetric = true, .reduction = Reduction::sum}).loss,
              (there + back).sum() / 2, {q, k});
}

TEST(InfoNce, PositivesAmongOtherKeysWithoutOneself) {
  torch::manual_seed(2);
  const at::Tensor x = learnt({6, 3}), positives = torch::tensor({1, 0, 3, 2, 5, 4}, at::kLong);
  const at::Tensor scores = (at::matmul(x, x.t()) / 0.5).masked_fill(at::eye(6, at::kBool), -INFINITY);
  const Loss found = info_nce(x, x,
                              {.temperature = 0.5,
                               .positives = positives,
                               .exclude_self = true,
                               .normalise = false,
                               .reduction = Reduction::none});
  expect_same(found.loss, cross_entropy(scores, positives), {x});
  EXPECT_NEAR(found.ceiling.item<double>(), std::log(5.0), 1e-12);
  EXPECT_THROW(info_nce(x, x, {.positives = at::arange(6), .exclude_self = true}), c10::ValueError);
}

TEST(InfoNce, ExplicitNegativesSharedOrOwn) {
  torch::manual_seed(3);
  const at::Tensor q = learnt({5, 4}), k = learnt({5, 4}), shared = learnt({9, 4}), own = learnt({5, 9, 4});
  for (const at::Tensor& negatives : {shared, own}) {
    const at::Tensor others =
        negatives.dim() == 2 ? at::matmul(q, negatives.t()) : (q.unsqueeze(1) * negatives).sum(-1);
    const at::Tensor scores = at::cat({(q * k).sum(-1, true), others}, 1) / 0.7;
    const Loss found =
        info_nce(q, k, {.temperature = 0.7, .negatives = negatives, .normalise = false, .reduction = Reduction::none});
    expect_same(found.loss, cross_entropy(scores, at::zeros({5}, at::kLong)), {q, k, negatives});
    const at::Tensor p = at::softmax(scores, -1);
    expect_same(found.entropy, -(p * p.log()).sum(-1), {q, k, negatives});
    EXPECT_NEAR(found.ceiling.item<double>(), std::log(10.0), 1e-12);
  }
}

TEST(InfoNce, LabelsTakeTheMeanOverTheirClass) {
  torch::manual_seed(4);
  const at::Tensor x = learnt({6, 3}), labels = torch::tensor({0, 0, 1, 1, 1, 2}, at::kLong);
  const at::Tensor scores = (at::matmul(x, x.t()) / 0.5).masked_fill(at::eye(6, at::kBool), -INFINITY);
  const at::Tensor same = labels.unsqueeze(1).eq(labels) & ~at::eye(6, at::kBool);
  const at::Tensor log_p = at::where(same, at::log_softmax(scores, -1), 0.0);
  const at::Tensor expected = -log_p.sum(1) / same.sum(1).clamp_min(1);  // the last row has no positive
  const Loss found = info_nce(x, x, {.temperature = 0.5, .labels = labels, .exclude_self = true, .normalise = false});
  expect_same(found.loss, expected.sum() / 5, {x});
  EXPECT_FALSE(found.bound.defined());
}

TEST(InfoNce, ARowOfZerosHasNoGradient) {
  const at::Tensor q = at::zeros({2, 3}, at::kDouble).requires_grad_(), k = torch::randn({2, 3}, at::kDouble);
  info_nce(q, k).loss.backward();
  EXPECT_TRUE(q.grad().eq(0).all().item<bool>());
}

TEST(InfoNce, RefusesWhatDoesNotFit) {
  const at::Tensor x = torch::randn({4, 3}, at::kDouble);
  EXPECT_THROW(info_nce(x, x.narrow(0, 0, 3)), c10::ValueError);
  EXPECT_THROW(info_nce(x, x.to(at::kFloat)), c10::TypeError);
  EXPECT_THROW(info_nce(x, x, {.temperature = 0.0}), c10::ValueError);
  EXPECT_THROW(info_nce(x, x, {.negatives = x, .symmetric = true}), c10::ValueError);
  EXPECT_THROW(info_nce(x, x, {.exclude_self = true}), c10::ValueError);
  EXPECT_THROW(info_nce(x, x, {.positives = torch::full({4}, 4, at::kLong)}), c10::ValueError);
}

TEST(Nce, IsTheCrossEntropyOfDataAndNoise) {
  torch::manual_seed(5);
  const at::Tensor q = learnt({5, 3}), x = learnt({5, 3}), shared = learnt({8, 3}), own = learnt({5, 8, 3});
  const at::Tensor of_data = learnt({5}), log_z = learnt({});
  for (const at::Tensor& noise : {shared, own}) {
    const at::Tensor of_noise = noise.dim() == 2 ? learnt({8}) : learnt({5, 8});
    const at::Tensor data = (q * x).sum(-1) / 0.5 - log_z - std::log(4.0) - of_data;
    const at::Tensor scores = noise.dim() == 2 ? at::matmul(q, noise.t()) : (q.unsqueeze(1) * noise).sum(-1);
    const at::Tensor odds = scores / 0.5 - log_z - std::log(4.0) - of_noise;
    const at::Tensor expected = -at::log_sigmoid(data) - at::log_sigmoid(-odds).sum(-1) * 0.5;
    const Loss found = nce(q, x, noise,
                           {.key_log_noise = of_data,
                            .noise_log_noise = of_noise,
                            .log_z = log_z,
                            .temperature = 0.5,
                            .noise_ratio = 4.0,
                            .reduction = Reduction::none});
    expect_same(found.loss, expected, {q, x, noise, of_data, of_noise, log_z});
    const at::Tensor p = at::sigmoid(data);
    expect_same(found.entropy, -(p * p.log() + (1 - p) * (1 - p).log()), {q, x, of_data, log_z});
    EXPECT_NEAR(found.ceiling.item<double>(), 0.2 * std::log(5.0) + 0.8 * std::log(1.25), 1e-12);
    EXPECT_NEAR((found.ceiling - found.bound).item<double>(), expected.mean().item<double>() / 5, 1e-12);
  }
  EXPECT_THROW(nce(q, x, shared, {}), c10::ValueError);
}

}  // namespace
}  // namespace isentropic::pytorch
