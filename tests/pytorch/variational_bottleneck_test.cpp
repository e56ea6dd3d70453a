// The bottleneck's price against its closed form and against samples, its gradients, and what it rejects.
#include "isentropic/pytorch/variational_bottleneck.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

namespace isentropic::pytorch {
namespace {

VariationalBottleneck double_bottleneck(VariationalBottleneckOptions options) {
  VariationalBottleneck out(options);
  out->to(at::kDouble);
  return out;
}

TEST(VariationalBottleneck, RateByHand) {
  const at::Tensor mean = torch::tensor({{0.0, 0.0}, {1.0, 0.0}, {3.0, -1.0}}, at::kDouble);
  const at::Tensor deviation = torch::tensor({{1.0, 1.0}, {1.0, 1.0}, {2.0, 1.0}}, at::kDouble);
  const at::Tensor found = gaussian_rate({mean, deviation});
  EXPECT_DOUBLE_EQ(found[0].item<double>(), 0.0);
  EXPECT_DOUBLE_EQ(found[1].item<double>(), 0.5);
  EXPECT_DOUBLE_EQ(found[2].item<double>(), 0.5 * (9 + 4 - 1 - 2 * std::log(2.0) + 1));
}

TEST(VariationalBottleneck, RateIsTheMeanLogRatioOfSamples) {
  torch::manual_seed(0);
  const at::Tensor x = torch::tensor({0.7, -0.4, 5.3, 4.1}, at::kDouble).expand({200'000, 4});
  const auto found = double_bottleneck({.code = 2})(x);
  const auto [mean, deviation] = gaussian_code(x);
  const at::Tensor whitened = (found.code - mean) / deviation;
  const at::Tensor ratio = 0.5 * (found.code.square() - whitened.square()).sum(-1) - deviation.log().sum(-1);
  EXPECT_NEAR(ratio.mean().item<double>(), found.rate[0].item<double>(), 0.01);
}

TEST(VariationalBottleneck, IsTheMeanInEvaluationUnlessAsked) {
  torch::manual_seed(1);
  VariationalBottleneck layer(VariationalBottleneckOptions{.code = 3, .features = 5});
  const at::Tensor x = torch::randn({2, 4, 5});
  EXPECT_FALSE(at::equal(layer(x).code, layer(x).code));
  EXPECT_TRUE(at::equal(layer(x, false).code, layer(x, false).code));
  layer->eval();
  EXPECT_TRUE(at::equal(layer(x).code, layer->W(x).narrow(-1, 0, 3)));
  EXPECT_FALSE(at::equal(layer(x, true).code, layer(x, true).code));
  EXPECT_EQ(layer(x).code.sizes(), (at::IntArrayRef{2, 4, 3}));
  EXPECT_EQ(layer(x).rate.sizes(), (at::IntArrayRef{2, 4}));
}

TEST(VariationalBottleneck, GradientsAreDifferences) {
  VariationalBottleneck layer = double_bottleneck({.code = 2});
  const at::Tensor x = torch::tensor({0.5, -1.5, 4.0, 6.0}, at::kDouble).requires_grad_();
  const auto loss = [&](const at::Tensor& at) {
    torch::manual_seed(2);
    const auto out = layer(at);
    return out.code.square().sum() + 0.3 * out.rate;
  };
  loss(x).backward();
  const double step = 1e-6;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    at::Tensor change = torch::zeros_like(x);
    change[i] = step;
    const double difference = (loss(x.detach() + change) - loss(x.detach() - change)).item<double>() / (2 * step);
    EXPECT_NEAR(x.grad()[i].item<double>(), difference, 1e-7) << i;
  }
}

TEST(VariationalBottleneck, NamesMistakes) {
  const auto said = [](auto&& work) -> std::string {
    try {
      work();
    } catch (const c10::ValueError& error) {
      return error.what_without_backtrace();
    }
    return "none";
  };
  EXPECT_EQ(said([] { VariationalBottleneck(VariationalBottleneckOptions{.code = 0}); }),
            "code is 0; expected at least 1");
  EXPECT_EQ(said([] { VariationalBottleneck(VariationalBottleneckOptions{.code = 2, .features = 0}); }),
            "features is 0; expected at least 1");
  EXPECT_EQ(said([] {
              VariationalBottleneck(VariationalBottleneckOptions{.code = 2})(torch::zeros({3, 5}));
            }),
            "x has shape [3, 5]; expected [..., 4]");
}

}  // namespace
}  // namespace isentropic::pytorch
