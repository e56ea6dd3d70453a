// Critics that score how well y matches x, by networks that embed both.
//
//   shared      f(x) . f(y)                       one tower: a symmetric score
//   two-tower   f(x) . g(y)
//   cosine      cos(f(x), g(y)) / temperature     bounded: with N pairs its bound is at most
//                                                 log N - log(1 + (N - 1) e^{-2 / temperature})
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/sequential.h>

#include <cstdint>
#include <string>
#include <vector>

#include "isentropic/pytorch/contrastive_losses.hpp"

namespace isentropic::lab::contrast {

enum class CriticKind : std::uint8_t { shared, two_tower, cosine };

// Throws Error unless the name is "shared", "two-tower" or "cosine".
CriticKind critic_named(const std::string& name);

struct CriticOptions {
  CriticKind kind = CriticKind::two_tower;
  bool one_tower = false;  // for cosine: both sides are views of the same thing
  std::int64_t inputs = 20, hidden = 256, outputs = 32;
  double temperature = 0.1;        // for cosine
  bool learn_temperature = false;  // starting from it
};

class Critic : public torch::nn::Module {
 public:
  // Parameters are drawn from PyTorch's default generator.
  explicit Critic(const CriticOptions& options);

  at::Tensor embed(const at::Tensor& x);        // [n, outputs]; of unit length for cosine
  at::Tensor embed_other(const at::Tensor& y);  // with the second tower, if there is one
  // InfoNCE over pairs, the rows of x and y.
  pytorch::Loss loss(const at::Tensor& x, const at::Tensor& y);

 private:
  CriticOptions options_;
  torch::nn::Sequential tower_{nullptr}, other_tower_{nullptr};
  at::Tensor log_temperature_;
};

}  // namespace isentropic::lab::contrast
