// Attention by distance and by entropy, against loops over individual scores.
#include "lab/length/distance_attention.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace isentropic::lab::length {
namespace {

struct Inputs {
  at::Tensor query, key, value;

  explicit Inputs(std::int64_t n) {
    at::manual_seed(7);
    query = at::randn({2, 3, n, 4}), key = at::randn({2, 3, n, 4}), value = at::randn({2, 3, n, 5});
  }
};

// One row's weights.
std::vector<double> row_weights(const Inputs& x, std::int64_t batch, std::int64_t head, std::int64_t row) {
  std::vector<double> out;
  double sum = 0;
  for (std::int64_t j = 0; j <= row; ++j) {
    const double score = (x.query[batch][head][row] * x.key[batch][head][j]).sum().item<double>() / 2;
    const double growth = 2 * std::log(1 + static_cast<double>(row - j) / 10);
    out.push_back(std::exp(std::sqrt(growth + 1) * score - growth));
    sum += out.back();
  }
  for (double& weight : out) weight /= sum;
  return out;
}

pytorch::AttentionOptions with_entropy() {
  return {.mask = Mask::causal(), .statistics = Statistics::of({Statistic::entropy})};
}

TEST(ScaleInvariantAttention, IsWhatItsFormulaSays) {
  const Inputs x(300);  // three parts
  const auto found = scale_invariant_attention(0, x.query, x.key, x.value, with_entropy());
  for (const std::int64_t row : {0, 17, 127, 128, 299}) {
    const std::vector<double> weights = row_weights(x, 1, 2, row);
    at::Tensor output = at::zeros({5});
    double entropy = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      output += weights[j] * x.value[1][2][static_cast<std::int64_t>(j)];
      entropy -= weights[j] * std::log(weights[j]);
    }
    EXPECT_LT((found.output[1][2][row] - output).abs().max().item<double>(), 1e-5);
    EXPECT_NEAR(found.statistics.at("entropy")[1][2][row].item<double>(), entropy, 1e-5);
  }
}

TEST(ScaleInvariantAttention, HasGradientsInEveryPart) {
  Inputs x(300);
  for (at::Tensor* input : {&x.query, &x.key, &x.value}) input->requires_grad_(true);
  scale_invariant_attention(0, x.query, x.key, x.value, with_entropy()).output.square().sum().backward();
  const at::Tensor i = at::arange(300, at::kFloat), growth = 2 * ((i.unsqueeze(1) - i).clamp_min(0) / 10).log1p();
  Inputs y(300);
  for (at::Tensor* input : {&y.query, &y.key, &y.value}) input->requires_grad_(true);
  const at::Tensor scores = (growth + 1).sqrt() * at::matmul(y.query, y.key.transpose(2, 3)) / 2 - growth;
  const at::Tensor hidden = at::ones({300, 300}, at::kBool).triu(1);
  at::matmul(at::softmax(scores.masked_fill(hidden, -INFINITY), -1), y.value).square().sum().backward();
  EXPECT_TRUE(at::allclose(x.query.grad(), y.query.grad(), 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(x.key.grad(), y.key.grad(), 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(x.value.grad(), y.value.grad(), 1e-4, 1e-5));
}

TEST(AdaptiveAttention, SharpensRowsByTheirEntropy) {
  const at::Tensor factors = adaptive_factor(at::tensor({0.2, 0.5, 2.0}, at::kDouble));
  EXPECT_DOUBLE_EQ(factors[0].item<double>(), 1);
  EXPECT_DOUBLE_EQ(factors[1].item<double>(), 1);
  EXPECT_NEAR(factors[2].item<double>(), 2.099, 1e-9);

  const Inputs x(64);
  const auto plain = pytorch::attention(x.query, x.key, x.value, with_entropy());
  const auto adapted = adaptive_attention(0, x.query, x.key, x.value, with_entropy());
  const at::Tensor rows = adaptive_factor(plain.statistics.at("entropy")).narrow(2, 40, 1) / 2;
  auto options = with_entropy();
  options.scale = Scale::per_row({});
  options.scale_parameters = {{"rows", rows.expand({2, 3, 64}).contiguous()}};
  const auto by_hand = pytorch::attention(x.query, x.key, x.value, options);
  EXPECT_TRUE(at::allclose(adapted.output.select(2, 40), by_hand.output.select(2, 40), 1e-5, 1e-6));
  EXPECT_LT(adapted.statistics.at("entropy").select(2, 63).max().item<double>(),
            plain.statistics.at("entropy").select(2, 63).max().item<double>());
}

}  // namespace
}  // namespace isentropic::lab::length
