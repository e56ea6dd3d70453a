// The variational bottleneck as a module: a noisy code of its input, and the price of the information it carries. Nats.
//
//   (mu, raw) = W x + b,   sigma = softplus(raw - 5),   z = mu + sigma eps,   eps ~ N(0, 1)
//   rate = KL(N(mu, sigma^2) || N(0, 1)) = 1/2 sum_i (mu_i^2 + sigma_i^2 - 1 - 2 log sigma_i)
//
// The mean rate over inputs is at least I(Z;X), whatever the distribution of X, with equality where Z ~ N(0, 1); so
// loss + beta mean(rate) puts a price of beta on each nat (Alemi, Fischer, Dillon & Murphy 2017). By hand: mu = 1 and
// sigma = 1 cost half a nat. Where sigma underflows to 0 (raw < -98 in float32) the rate is infinite.
//
//   VariationalBottleneck bottleneck(VariationalBottleneckOptions{.code = 32, .features = 512});
//   auto [code, rate] = bottleneck(x);                                  // x [..., 512], code [..., 32], rate [...]
//   (task_loss(code) + beta * rate.mean()).backward();
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <optional>

#include "isentropic/export.hpp"

namespace isentropic::pytorch {

struct GaussianCode {
  at::Tensor mean, deviation;  // [..., k]
};
// x [..., 2 k]: mu, then raw.
ISENTROPIC_API GaussianCode gaussian_code(const at::Tensor& x);
// [..., k] to [...].
ISENTROPIC_API at::Tensor gaussian_rate(const GaussianCode& code);

struct VariationalBottleneckOptions {
  std::int64_t code;                          // k
  std::optional<std::int64_t> features = {};  // of the input; absent: the input is (mu, raw), [..., 2 k], without W
};

struct VariationalBottleneckOutput {
  at::Tensor code;  // z, [..., k]
  at::Tensor rate;  // [...]
};

class ISENTROPIC_API VariationalBottleneckImpl : public torch::nn::Cloneable<VariationalBottleneckImpl> {
 public:
  explicit VariationalBottleneckImpl(VariationalBottleneckOptions options);

  void reset() override;

  // sample: whether z is drawn rather than set to mu; absent: only in training.
  VariationalBottleneckOutput forward(const at::Tensor& x, std::optional<bool> sample = {});

  VariationalBottleneckOptions options;
  torch::nn::Linear W{nullptr};
};

TORCH_MODULE(VariationalBottleneck);

}  // namespace isentropic::pytorch
