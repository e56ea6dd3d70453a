// Rotations, sinusoids and slopes of positions, by hand.
#include "isentropic/pytorch/positions.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

namespace isentropic::pytorch {
namespace {

void expect_numbers(const at::Tensor& found, const std::vector<double>& wanted) {
  EXPECT_TRUE(at::allclose(found.flatten().to(at::kDouble), torch::tensor(wanted, at::kDouble), 1e-6, 1e-7)) << found;
}

// base 16, two pairs: w = 1, 1/4. At position 2 the pairs (1, 3) and (2, 4) turn by 2 and 1/2; the fifth feature stays.
TEST(Positions, PairsTurnByTheirAngles) {
  expect_numbers(frequencies(2, 16.0), {1.0, 0.25});
  const at::Tensor x = torch::tensor({1.0, 2.0, 3.0, 4.0, 5.0}, at::kDouble).view({1, 1, 1, 5});
  const at::Tensor found = rotate(x, rotation(torch::tensor({2}), frequencies(2, 16.0), at::kDouble));
  expect_numbers(found, {std::cos(2.0) - 3 * std::sin(2.0), 2 * std::cos(0.5) - 4 * std::sin(0.5),
                         3 * std::cos(2.0) + std::sin(2.0), 4 * std::cos(0.5) + 2 * std::sin(0.5), 5.0});
  expect_numbers(rotation(torch::tensor({2}), frequencies(1, 16.0), at::kFloat, 3.0).cosine,
                 {3 * std::cos(2.0), 3 * std::cos(2.0)});
}

// In 16 bits, with angles in float32: rounded once, whatever the memory layout.
TEST(Positions, PairsTurnOnAGpuAsOnTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no NVIDIA GPU";
  torch::manual_seed(1);
  const at::Tensor places = at::arange(37), w = frequencies(32, 10000.0);
  const Rotation exact = rotation(places, w, at::kDouble);
  const Rotation given = rotation(places.cuda(), w.to(at::kFloat), at::kFloat);
  const at::Tensor x = torch::randn({2, 37, 3, 64}).to(at::kBFloat16), g = torch::randn_like(x);
  const auto heads = [](const at::Tensor& all) { return all.transpose(1, 2); };
  const at::Tensor on_gpu = x.cuda().requires_grad_(), on_cpu = x.to(at::kDouble).requires_grad_();
  const at::Tensor found = rotate(heads(on_gpu), given), wanted = rotate(heads(on_cpu), exact);
  found.backward(heads(g.cuda()));
  wanted.backward(heads(g.to(at::kDouble)));
  const auto error = [](const at::Tensor& a, const at::Tensor& b) {
    return ((a.cpu().to(at::kDouble) - b).norm() / b.norm()).item<double>();
  };
  EXPECT_EQ(found.scalar_type(), at::kBFloat16);
  EXPECT_LT(error(found.detach(), wanted.detach()), 0x1p-9);
  EXPECT_LT(error(on_gpu.grad(), on_cpu.grad()), 0x1p-9);
}

TEST(Positions, WavesComeInTwoOrders) {
  const at::Tensor places = torch::tensor({2});
  const double s = std::sin(2.0), c = std::cos(2.0), slow_s = std::sin(0.5), slow_c = std::cos(0.5);
  expect_numbers(sinusoids(places, frequencies(2, 16.0), 4, SinusoidOrder::sines_first), {s, slow_s, c, slow_c});
  expect_numbers(sinusoids(places, frequencies(2, 16.0), 4, SinusoidOrder::alternating), {s, c, slow_s, slow_c});
  expect_numbers(sinusoids(places, frequencies(2, 16.0), 3, SinusoidOrder::alternating), {s, c, slow_s});
}

TEST(Positions, SlopesOfHeadsThatAreNoPowerOfTwoComeFromTwiceAsMany) {
  expect_numbers(alibi_slopes(4), {1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256});
  expect_numbers(alibi_slopes(6), {1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256, 1.0 / 2, 1.0 / 8});
}

}  // namespace
}  // namespace isentropic::pytorch
