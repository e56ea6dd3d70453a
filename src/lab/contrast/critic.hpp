// Critics of pairs: how well y goes with x, by networks that embed both.
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

// Throws Error for a name that is none of "shared", "two-tower" and "cosine".
CriticKind critic_named(const std::string& name);

struct CriticOptions {
  CriticKind kind = CriticKind::two_tower;
  bool one_tower = false;  // of a cosine: both sides are views of the same thing
  std::int64_t inputs = 20, hidden = 256, outputs = 32;
  double temperature = 0.1;        // of a cosine
  bool learn_temperature = false;  // from there
};

class Critic : public torch::nn::Module {
 public:
  // Parameters are drawn from PyTorch's generator.
  explicit Critic(const CriticOptions& options);

  at::Tensor embed(const at::Tensor& x);        // [n, outputs]; of unit length for a cosine
  at::Tensor embed_other(const at::Tensor& y);  // by the other tower where there is one
  // InfoNCE of pairs, rows of x and y.
  pytorch::Loss loss(const at::Tensor& x, const at::Tensor& y);

 private:
  CriticOptions options_;
  torch::nn::Sequential tower_{nullptr}, other_tower_{nullptr};
  at::Tensor log_temperature_;
};

}  // namespace isentropic::lab::contrast
