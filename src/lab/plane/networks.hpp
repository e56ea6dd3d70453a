// Small networks whose layers are observed, several seeds at once: the first axis of every parameter is the seed.
//
//   mlp        t_l = activation(t_{l-1} W_l + b_l), logits = t_L W + b
//   attention  one token per input feature: t_0 = x e + p, with vectors e and p for its position; then for each block
//              a = t + attention(t Q, t K, t V) O,   t = a + activation(a W_1 + b_1) W_2 + b_2,
//              and logits of the mean over tokens. No norms: they would discard what they divide by.
//
// Initial weights are normal with standard deviation 1 / sqrt(inputs), truncated at two deviations; biases are 0.
#pragma once

#include <ATen/ATen.h>
#include <torch/ordered_dict.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace isentropic::lab {

struct PlaneNetworkOptions {
  std::string network = "mlp";                          // or attention
  std::string activation = "tanh";                      // or relu, linear
  std::vector<std::int64_t> layers = {10, 7, 5, 4, 3};  // mlp: hidden layer sizes
  std::int64_t blocks = 1, top_k = 0;                   // attention; 0: all keys
  std::int64_t seeds = 3;
  std::uint64_t seed = 1;
};

// Receives every layer, [seeds, inputs, width] (attention: all tokens in one axis), and returns what is passed on.
using VisitLayer = std::function<at::Tensor(const std::string& name, const at::Tensor& layer)>;

class PlaneNetwork {
 public:
  virtual ~PlaneNetwork() = default;
  // x [inputs, features]; logits [seeds, inputs, classes], in the type of x.
  virtual at::Tensor logits(const at::Tensor& x, const VisitLayer& visit) const = 0;
  virtual std::vector<std::string> layer_names() const = 0;

  const torch::OrderedDict<std::string, at::Tensor>& parameters() const { return parameters_; }
  void move_to(at::Device device);

 protected:
  explicit PlaneNetwork(const PlaneNetworkOptions& options) : options_(options) {}
  void add_weight(const std::string& name, std::int64_t inputs, std::int64_t outputs);
  void add_bias(const std::string& name, std::int64_t outputs);
  at::Tensor linear(const std::string& name, const at::Tensor& x) const;
  at::Tensor activated(const at::Tensor& x) const;

  PlaneNetworkOptions options_;
  torch::OrderedDict<std::string, at::Tensor> parameters_;
};

// Throws Error for an unknown network or activation.
std::unique_ptr<PlaneNetwork> plane_network(const PlaneNetworkOptions& options, std::int64_t features,
                                            std::int64_t classes);

}  // namespace isentropic::lab
