// Many networks of one shape, side by side: every parameter has a leading axis [networks, ...], and a layer of all of
// them is one batched product, which keeps a GPU busy.
//
//   h = relu(x W_1 + b_1) ...,  (mu, raw) = h W_n + b_n,  sigma = softplus(raw - 5),  o = z W + b
//
// Initial weights are uniform in +-sqrt(6 / (in + out)) (Glorot & Bengio 2010), biases 0.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/ordered_dict.h>

#include <cstdint>
#include <span>

#include "isentropic/pytorch/variational_bottleneck.hpp"
#include "lab/vib/problem.hpp"

namespace isentropic::lab::vib {

class Networks {
 public:
  using Parameters = torch::OrderedDict<std::string, at::Tensor>;

  // One network per seed; those with the same seed start from the same weights.
  Networks(const Shape& shape, std::span<const std::uint64_t> seeds, at::Device device);

  std::int64_t count() const { return parameters_[0].value().size(0); }
  const Parameters& parameters() const { return parameters_; }

  // [networks, batch, features]; the first axis may have any stride.
  pytorch::GaussianCode encode(const at::Tensor& inputs) const;
  // [networks, batch, code] to [networks, batch, outputs].
  at::Tensor decode(const at::Tensor& code) const;
  // log q(y|z) of outputs and targets [networks, batch, ...]: [networks, batch].
  at::Tensor log_likelihood(const at::Tensor& outputs, const at::Tensor& targets) const;

 private:
  void add_layer(const std::string& name, std::int64_t in, std::int64_t out, std::span<const std::uint64_t> seeds,
                 at::Device device);
  at::Tensor apply(const std::string& layer, const at::Tensor& x) const;

  Shape shape_;
  Parameters parameters_;
};

}  // namespace isentropic::lab::vib
