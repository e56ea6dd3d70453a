// AdamW over the parameters of a model, with moments that can be saved and read back.
//
//   m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2
//   w = w - rate (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + epsilon) + decay w)
//
// Weight decay applies only to tensors with two or more axes; norms, biases and scales have one axis.
#pragma once

#include <ATen/ATen.h>
#include <torch/ordered_dict.h>

#include <cstdint>
#include <string>
#include <vector>

namespace isentropic::lab {

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0.1;
};

class AdamW {
 public:
  // Sets requires_grad on the parameters.
  AdamW(const torch::OrderedDict<std::string, at::Tensor>& parameters, const AdamWOptions& options);

  void zero_gradients();
  // Scales all gradients so that their norm is at most `limit`; returns the norm before. limit <= 0: no limit.
  double clip_gradients(double limit);
  void step(double rate);

  // Moments by name, "m.layers.0.query.weight"; these are the optimiser's own tensors.
  torch::OrderedDict<std::string, at::Tensor> moments() const;
  void set_steps(std::int64_t steps);

 private:
  struct Group {
    std::vector<at::Tensor> parameters, first, second, steps;
    double decay;
    std::vector<std::string> names;
  };
  AdamWOptions options_;
  std::vector<Group> groups_;
};

// Linear warm-up over `warmup` steps, then a half cosine down to `floor` times the rate at step `steps`.
double learning_rate(double rate, std::int64_t step, std::int64_t warmup, std::int64_t steps, double floor = 0.1);

}  // namespace isentropic::lab
