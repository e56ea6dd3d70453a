// The loss out of PyTorch's operators against the kernels, both on the CPU.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "pytorch/losses.hpp"

namespace isentropic::pytorch {
namespace {

// As an operator's backward runs: below autograd.
using BelowAutograd = at::AutoDispatchBelowADInplaceOrView;

void expect_close(const at::Tensor& found, const at::Tensor& wanted, const char* what, double tolerance) {
  ASSERT_EQ(found.sizes(), wanted.sizes()) << what;
  ASSERT_EQ(found.scalar_type(), wanted.scalar_type()) << what;
  EXPECT_TRUE(at::allclose(found, wanted, tolerance, tolerance)) << what << "\n" << found << "\n" << wanted;
}

void compare(std::int64_t rows, std::int64_t keys, bool biased, std::optional<double> soft_cap, bool others,
             at::ScalarType type, double tolerance) {
  const at::Tensor q = torch::randn({rows, 6}, type), k = torch::randn({keys, 6}, type);
  const at::Tensor target = torch::randint(-1, keys, {rows}, torch::kLong), scale = torch::tensor(0.7, type);
  const auto bias = biased ? std::optional(torch::randn({keys}, type)) : std::nullopt;
  const auto kernels = softmax_loss_forward(q, k, target, scale, bias, soft_cap, others);
  const auto chunks = chunked_loss_forward(q, k, target, scale, bias, soft_cap, others);
  expect_close(std::get<0>(chunks), std::get<0>(kernels), "log_partition", tolerance);
  expect_close(std::get<1>(chunks), std::get<1>(kernels), "entropy", tolerance);
  expect_close(std::get<2>(chunks), std::get<2>(kernels), "target_score", tolerance);
  const at::Tensor g1 = torch::randn({rows}, type), g2 = torch::randn({rows}, type), g3 = torch::randn({rows}, type);
  const auto by_kernels =
      softmax_loss_backward(q, k, target, scale, bias, soft_cap, others, std::get<3>(kernels), g1, g2, g3);
  const BelowAutograd below;
  const auto by_chunks =
      chunked_loss_backward(q, k, target, scale, bias, soft_cap, others, std::get<3>(chunks), g1, g2, g3);
  expect_close(std::get<0>(by_chunks), std::get<0>(by_kernels), "query", 10 * tolerance);
  expect_close(std::get<1>(by_chunks), std::get<1>(by_kernels), "key", 10 * tolerance);
  expect_close(std::get<2>(by_chunks), std::get<2>(by_kernels), "scale", 100 * tolerance);
  expect_close(std::get<3>(by_chunks), std::get<3>(by_kernels), "bias", 10 * tolerance);
}

TEST(ChunkedLoss, EqualsTheKernels) {
  torch::manual_seed(1);
  for (const bool others : {false, true}) {
    compare(9, others ? 9 : 12, false, std::nullopt, others, at::kDouble, 1e-11);
    compare(9, others ? 9 : 12, true, 1.3, others, at::kDouble, 1e-11);
    compare(9, others ? 9 : 12, true, std::nullopt, others, at::kFloat, 1e-5);
  }
}

// More scores than are held at a time.
TEST(ChunkedLoss, SeveralChunks) {
  torch::manual_seed(2);
  compare(500, 40000, true, std::nullopt, false, at::kFloat, 1e-4);
}

}  // namespace
}  // namespace isentropic::pytorch
