// The loss composed of PyTorch's operators against the kernels, both on the CPU.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "pytorch/losses.hpp"

namespace isentropic::pytorch {
namespace {

// Below autograd, like an operator's backward pass.
using BelowAutograd = at::AutoDispatchBelowADInplaceOrView;

void expect_close(const at::Tensor& found, const at::Tensor& wanted, const char* what, double tolerance) {
  ASSERT_EQ(found.sizes(), wanted.sizes()) << what;
  ASSERT_EQ(found.scalar_type(), wanted.scalar_type()) << what;
  EXPECT_TRUE(at::allclose(found, wanted, tolerance, tolerance)) << what << "\n" << found << "\n" << wanted;
}

void compare(std::int64_t rows, std::int64_t keys, bool biased, std::optional<double> soft_cap, bool exclude_self,
             at::ScalarType type, double tolerance) {
  const at::Tensor q = torch::randn({rows, 6}, type), k = torch::randn({keys, 6}, type);
  const at::Tensor target = torch::randint(-1, keys, {rows}, torch::kLong), scale = torch::tensor(0.7, type);
  const auto bias = biased ? std::optional(torch::randn({keys}, type)) : std::nullopt;
  const auto kernels = softmax_loss_forward(q, k, target, scale, bias, soft_cap, exclude_self);
  const auto chunks = chunked_loss_forward(q, k, target, scale, bias, soft_cap, exclude_self);
  expect_close(std::get<0>(chunks), std::get<0>(kernels), "loss", tolerance);
  expect_close(std::get<1>(chunks), std::get<1>(kernels), "log_partition", tolerance);
  expect_close(std::get<2>(chunks), std::get<2>(kernels), "entropy", tolerance);
  const at::Tensor g1 = torch::randn({rows}, type), g2 = torch::randn({rows}, type), g3 = torch::randn({rows}, type);
  const auto by_kernels = softmax_loss_backward(q, k, target, scale, bias, soft_cap, exclude_self, std::get<0>(kernels),
                                                std::get<3>(kernels), g1, g2, g3);
  const BelowAutograd below;
  const auto by_chunks = chunked_loss_backward(q, k, target, scale, bias, soft_cap, exclude_self, std::get<0>(chunks),
                                               std::get<3>(chunks), g1, g2, g3);
  expect_close(std::get<0>(by_chunks), std::get<0>(by_kernels), "query", 10 * tolerance);
  expect_close(std::get<1>(by_chunks), std::get<1>(by_kernels), "key", 10 * tolerance);
  expect_close(std::get<2>(by_chunks), std::get<2>(by_kernels), "scale", 100 * tolerance);
  expect_close(std::get<3>(by_chunks), std::get<3>(by_kernels), "bias", 10 * tolerance);
}

TEST(ChunkedLoss, EqualsTheKernels) {
  torch::manual_seed(1);
  for (const bool exclude_self : {false, true}) {
    compare(9, exclude_self ? 9 : 12, false, std::nullopt, exclude_self, at::kDouble, 1e-11);
    compare(9, exclude_self ? 9 : 12, true, 1.3, exclude_self, at::kDouble, 1e-11);
    compare(9, exclude_self ? 9 : 12, true, std::nullopt, exclude_self, at::kFloat, 1e-5);
  }
}

// With one candidate the loss is 0, and so is its gradient; a near-certain row keeps the digits of its loss; a row
// without upstream gradient poisons nothing.
TEST(ChunkedLoss, EdgesOfRows) {
  const auto none = std::optional<at::Tensor>();
  const at::Tensor one = torch::tensor(1.0), target = torch::tensor({0}), up = torch::ones({1});
  const auto gradients = [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& targets, const at::Tensor& g) {
    const auto forward = chunked_loss_forward(q, k, targets, one, none, std::nullopt, false);
    const BelowAutograd below;
    return chunked_loss_backward(q, k, targets, one, none, std::nullopt, false, std::get<0>(forward),
                                 std::get<3>(forward), g, none, none);
  };
  const at::Tensor q = torch::tensor({{3.0f}}), k = torch::tensor({{2.0f}});
  EXPECT_EQ(std::get<0>(chunked_loss_forward(q, k, target, one, none, std::nullopt, false)).item<float>(), 0);
  EXPECT_EQ(std::get<0>(gradients(q, k, target, up)).item<float>(), 0);
  EXPECT_EQ(std::get<1>(gradients(q, k, target, up)).item<float>(), 0);

  const at::Tensor sure_q = torch::tensor({{1000.0f}}), sure_k = torch::tensor({{1.0f}, {0.988f}});
  const double loss =
      std::get<0>(chunked_loss_forward(sure_q, sure_k, target, one, none, std::nullopt, false)).item<double>();
  EXPECT_NEAR(loss / std::exp(-12), 1, 1e-4);

  const at::Tensor poisoned = torch::tensor({{3.0f}, {std::nanf("")}}), pair = torch::tensor({0, 1});
  const auto alone = gradients(q, sure_k, target, up);
  const auto beside = gradients(poisoned, sure_k, pair, torch::tensor({1.0f, 0.0f}));
  EXPECT_TRUE(at::equal(std::get<1>(beside), std::get<1>(alone)));
  EXPECT_EQ(std::get<0>(beside)[1].item<float>(), 0);
}

// More scores than fit into a chunk.
TEST(ChunkedLoss, SeveralChunks) {
  torch::manual_seed(2);
  compare(500, 40000, true, std::nullopt, false, at::kFloat, 1e-4);
}

}  // namespace
}  // namespace isentropic::pytorch
