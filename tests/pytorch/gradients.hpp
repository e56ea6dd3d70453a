// Checks that two tensors have the same values and gradients.
#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <vector>

namespace isentropic::pytorch {

// Upstream gradients differ between rows, so that a gradient added to the wrong row is detected.
inline void expect_same(const at::Tensor& found, const at::Tensor& expected, const std::vector<at::Tensor>& inputs) {
  EXPECT_TRUE(at::allclose(found, expected, 1e-11, 1e-11)) << found << expected;
  const at::Tensor upstream = at::linspace(-1, 2, expected.numel(), at::kDouble).view_as(expected);
  const auto gradients = torch::autograd::grad({found}, inputs, {upstream}, /*retain_graph=*/true);
  const auto wanted = torch::autograd::grad({expected}, inputs, {upstream}, /*retain_graph=*/true);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_TRUE(at::allclose(gradients[i], wanted[i], 1e-9, 1e-11)) << i << gradients[i] << wanted[i];
}

inline at::Tensor learnt(at::IntArrayRef sizes) { return torch::randn(sizes, at::kDouble).requires_grad_(); }

}  // namespace isentropic::pytorch
