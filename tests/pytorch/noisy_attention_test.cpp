// Attention whose heads pay for the information they pass on: the price by its formula, the noise, and learning.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "isentropic/pytorch/multi_head_attention.hpp"

namespace isentropic::pytorch {
namespace {

constexpr std::int64_t kNoisyHeads = 2, kNoisyWidth = 8;

NoisyAttention noisy(double noise = 0) {
  return NoisyAttention(MultiHeadAttentionOptions{.d_model = kNoisyWidth, .num_heads = kNoisyHeads, .noise = noise});
}

// The heads' outputs, from a plain module with the same weights and an identity W_O.
at::Tensor outputs_of_heads(const NoisyAttention& layer, const at::Tensor& x) {
  const at::NoGradGuard no_gradient;
  MultiHeadAttention plain(MultiHeadAttentionOptions{.d_model = kNoisyWidth, .num_heads = kNoisyHeads});
  for (const auto& item : plain->named_parameters()) item.value().copy_(layer->named_parameters()[item.key()]);
  plain->W_O->weight.copy_(torch::eye(kNoisyWidth)), plain->W_O->bias.zero_();
  return plain(x).output.unflatten(-1, {kNoisyHeads, kNoisyWidth / kNoisyHeads}).transpose(1, 2);
}

TEST(NoisyAttention, ChargesTheDivergenceFromTheStandardNormal) {
  torch::manual_seed(0);
  const NoisyAttention layer = noisy(0.7);
  const at::Tensor x = torch::randn({3, 5, kNoisyWidth}), o = outputs_of_heads(layer, x);
  const auto found = NoisyAttention(layer)(x);
  const at::Tensor expected = 0.5 * (o.square() + 0.49 - 1 - 2 * std::log(0.7)).sum(-1);
  EXPECT_TRUE(at::allclose(found.statistics.at("rate"), expected, 1e-5, 1e-6));
  EXPECT_TRUE(found.statistics.contains("entropy"));
}

TEST(NoisyAttention, IsNoisyInTrainingAndByItsDeviation) {
  torch::manual_seed(1);
  NoisyAttention layer = noisy(0.5);
  const at::NoGradGuard no_gradient;
  layer->W_O->weight.copy_(torch::eye(kNoisyWidth)), layer->W_O->bias.zero_();
  const at::Tensor x = torch::randn({1, 1, kNoisyWidth}).expand({20'000, 1, kNoisyWidth});
  const at::Tensor drawn = layer(x).output;
  EXPECT_NEAR(drawn.std(0).mean().item<double>(), 0.5, 0.01);
  layer->eval();
  const at::Tensor still = layer(x).output;
  EXPECT_TRUE(at::equal(still[0], still[1]));
  EXPECT_TRUE(at::allclose(drawn.mean(0), still[0], 0, 0.02));
}

TEST(NoisyAttention, LearnsItsDeviation) {
  torch::manual_seed(2);
  NoisyAttention layer = noisy(), loud = noisy(100.0);
  EXPECT_TRUE(at::allclose(layer->deviation(), torch::full({kNoisyHeads, 1, 4}, 0.01), 1e-4));
  EXPECT_TRUE(at::allclose(loud->deviation(), torch::full({kNoisyHeads, 1, 4}, 100.0)));
  EXPECT_TRUE(layer->named_parameters().contains("raw_deviation"));
  layer(torch::randn({2, 3, kNoisyWidth})).statistics.at("rate").mean().backward();
  EXPECT_LT(layer->raw_deviation.grad().max().item<double>(), 0);  // less noise costs more
  EXPECT_GT(layer->W_V->weight.grad().abs().max().item<double>(), 0);
}

TEST(NoisyAttention, PlainAttentionHasNoNoise) {
  MultiHeadAttention plain(MultiHeadAttentionOptions{.d_model = kNoisyWidth, .num_heads = kNoisyHeads});
  EXPECT_FALSE(plain->named_parameters().contains("raw_deviation"));
  EXPECT_FALSE(plain(torch::randn({1, 3, kNoisyWidth})).statistics.contains("rate"));
  EXPECT_THROW(noisy(-1), c10::ValueError);
}

}  // namespace
}  // namespace isentropic::pytorch
