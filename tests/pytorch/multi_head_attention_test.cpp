// The module with the scale kappa log n / d against an explicit formula.
#include "isentropic/pytorch/multi_head_attention.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

namespace isentropic::pytorch {
namespace {

constexpr std::int64_t kModelBatch = 2, kModel = 12, kModelHeads = 3;

// kappa log(n) / d with one n for all rows and the mask as -inf: the expected result for rows that see n keys.
at::Tensor written(MultiHeadAttention& layer, const at::Tensor& Q, const at::Tensor& K, const at::Tensor& V,
                   const at::Tensor& n, const at::Tensor& visible = {}) {
  const auto split = [](const at::Tensor& x, std::int64_t heads) {
    return x.reshape({x.size(0), x.size(1), heads, -1}).transpose(1, 2);
  };
  const at::Tensor q = split(layer->W_Q(Q), kModelHeads);
  const std::int64_t kv_heads = layer->options.num_kv_heads;
  const at::Tensor k = split(layer->W_K(K), kv_heads).repeat_interleave(kModelHeads / kv_heads, 1);
  const at::Tensor v = split(layer->W_V(V), kv_heads).repeat_interleave(kModelHeads / kv_heads, 1);
  at::Tensor s = q.matmul(k.transpose(-1, -2)) * layer->scale_parameters.at("kappa").reshape({-1, 1, 1}) *
                 n.log().unsqueeze(-1) / static_cast<double>(q.size(-1));
  if (visible.defined()) s = s.masked_fill(visible.logical_not(), -INFINITY);
  return layer->W_O(s.softmax(-1).matmul(v).transpose(1, 2).flatten(2));
}

at::Tensor count(double n) { return torch::full({1}, n); }

void expect_close(const at::Tensor& found, const at::Tensor& wanted) {
  ASSERT_EQ(found.sizes(), wanted.sizes());
  EXPECT_TRUE(at::allclose(found, wanted, 1e-5, 1e-6)) << (found - wanted).abs().max();
}

TEST(EntropyInvariantAttention, EqualsTheFormula) {
  torch::manual_seed(0);
  const at::Tensor x = torch::randn({kModelBatch, 7, kModel});
  for (std::int64_t kv_heads : {3, 1}) {
    EntropyInvariantAttention layer(MultiHeadAttentionOptions{
        .d_model = kModel, .num_heads = kModelHeads, .num_kv_heads = kv_heads, .scale = Scale::log_n(1.7)});
    const auto found = layer(x, x, x);
    expect_close(found.output, written(layer, x, x, x, count(7)));
    EXPECT_EQ(found.statistics.at("entropy").sizes(), (at::IntArrayRef{kModelBatch, kModelHeads, 7}));
  }
}

TEST(EntropyInvariantAttention, CrossAttentionCountsKeys) {
  torch::manual_seed(1);
  EntropyInvariantAttention layer(MultiHeadAttentionOptions{.d_model = kModel, .num_heads = kModelHeads});
  const at::Tensor q = torch::randn({kModelBatch, 5, kModel}), k = torch::randn({kModelBatch, 9, kModel});
  expect_close(layer(q, k).output, written(layer, q, k, k, count(9)));
}

TEST(EntropyInvariantAttention, CausalRowsHaveTheirOwnLength) {
  torch::manual_seed(2);
  EntropyInvariantAttention layer(
      MultiHeadAttentionOptions{.d_model = kModel, .num_heads = kModelHeads, .mask = Mask::causal()});
  const at::Tensor x = torch::randn({kModelBatch, 6, kModel});
  const auto found = layer(x, at::Tensor(), at::Tensor(), at::Tensor(), std::vector<std::int64_t>{0, 5});
  expect_close(found.output, written(layer, x, x, x, torch::arange(1, 7), torch::ones({6, 6}, at::kBool).tril()));
  EXPECT_EQ(found.weights.sizes(), (at::IntArrayRef{kModelBatch, kModelHeads, 2, 6}));
  expect_close(found.weights.sum(-1), torch::ones({kModelBatch, kModelHeads, 2}));
}

TEST(EntropyInvariantAttention, DecodingIsAlignedToTheEnd) {
  torch::manual_seed(7);
  EntropyInvariantAttention layer(
      MultiHeadAttentionOptions{.d_model = kModel, .num_heads = kModelHeads, .mask = Mask::causal(Align::end)});
  const at::Tensor q = torch::randn({kModelBatch, 2, kModel}), k = torch::randn({kModelBatch, 6, kModel});
  expect_close(layer(q, k).output,
               written(layer, q, k, k, torch::tensor({5.0, 6.0}), torch::ones({2, 6}, at::kBool).tril(4)));
}

TEST(EntropyInvariantAttention, RowsThatSeeNothingGiveNothing) {
  torch::manual_seed(3);
  EntropyInvariantAttention layer(MultiHeadAttentionOptions{.d_model = kModel, .num_heads = kModelHeads});
  const at::Tensor x = torch::randn({kModelBatch, 4, kModel});
  at::Tensor visible = torch::ones({kModelBatch, 4, 4}, at::kBool);
  visible.index_put_({0, 2}, false);
  const auto found = layer(x, x, x, visible);
  expect_close(found.output[0][2], layer->W_O(torch::zeros({kModel})));
  EXPECT_EQ(found.statistics.at("entropy")[0][0][2].item<double>(), 0.0);
  layer->to(at::kBFloat16);
  EXPECT_TRUE(layer(x.to(at::kBFloat16), at::Tensor(), at::Tensor(), visible).output.isfinite().all().item<bool>());
}

TEST(EntropyInvariantAttention, KappaLearns) {
  torch::manual_seed(4);
  EntropyInvariantAttention layer(
      MultiHeadAttentionOptions{.d_model = kModel, .num_heads = kModelHeads, .learn_scale = true});
  layer->to(at::kDouble);
  const at::Tensor x = torch::randn({1, 5, kModel}, at::kDouble);
  const auto loss = [&] { return layer(x).output.square().sum() + layer(x).statistics.at("entropy").sum(); };
  loss().backward();
  const at::Tensor kappa = layer->scale_parameters.at("kappa"), gradient = kappa.grad().clone();
  const at::NoGradGuard no_gradient;
  for (std::int64_t h = 0; h < kModelHeads; ++h) {
    const double step = 1e-6;
    kappa[h] += step;
    const double above = loss().item<double>();
    kappa[h] -= 2 * step;
    const double below = loss().item<double>();
    kappa[h] += step;
    EXPECT_NEAR(gradient[h].item<double>(), (above - below) / (2 * step), 1e-6);
  }
}

// Shuffling keys matters once they have positions; shifting queries and keys equally does not.
TEST(EntropyInvariantAttention, PositionsAreSeen) {
  torch::manual_seed(5);
  const at::Tensor x = torch::randn({1, 6, kModel}), other = torch::randn({1, 6, kModel});
  const auto entropy = [&](Positions positions, const at::Tensor& keys) {
    torch::manual_seed(6);
    EntropyInvariantAttention layer(MultiHeadAttentionOptions{.d_model = kModel,
                                                              .num_heads = kModelHeads,
                                                              .mask = Mask::none().aligned(Align::end),
                                                              .scale = Scale::log_n(20),
                                                              .positions = positions,
                                                              .max_distance = 4});
    if (positions == Positions::relative) {
      const at::NoGradGuard no_gradient;
      layer->table.normal_();
    }
    return layer(x, keys).statistics.at("entropy");
  };
  const at::Tensor shuffled = other.index_select(1, torch::tensor({3, 1, 0, 5, 4, 2}));
  EXPECT_TRUE(at::allclose(entropy(Positions::none, other), entropy(Positions::none, shuffled), 1e-4, 1e-5));
  for (Positions positions : {Positions::rotary, Positions::sinusoidal, Positions::relative})
    EXPECT_FALSE(at::allclose(entropy(positions, other), entropy(positions, shuffled), 1e-3, 1e-3));
  // A longer cache in front shifts all positions equally; hiding it changes nothing for rotary and relative positions.
  const at::Tensor longer = at::cat({torch::randn({1, 3, kModel}), other}, 1);
  for (Positions positions : {Positions::rotary, Positions::relative}) {
    torch::manual_seed(6);
    EntropyInvariantAttention layer(MultiHeadAttentionOptions{.d_model = kModel,
                                                              .num_heads = kModelHeads,
                                                              .mask = Mask::none().aligned(Align::end),
                                                              .positions = positions,
                                                              .max_distance = 16});
    at::Tensor visible = torch::ones({1, 9}, at::kBool);
    visible.narrow(1, 0, 3).fill_(false);
    expect_close(layer(x, longer, longer, visible).output, layer(x, other, other).output);
  }
}

}  // namespace
}  // namespace isentropic::pytorch
