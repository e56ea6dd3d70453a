// Small networks whose layers are looked at, several seeds as one: parameters have an axis of seeds before all others.
//
//   mlp        t_l = activation(t_{l-1} W_l + b_l), logits = t_L W + b
//   attention  a token for each input: t_0 = x e + p, with vectors e and p of its place; then for each block
//              a = t + attention(t Q, t K, t V) O,   t = a + activation(a W_1 + b_1) W_2 + b_2,
//              and logits of the mean over tokens. No norms: they would drop what they divide by.
//
// Weights start normal with deviation 1 / sqrt(inputs), cut at two deviations; biases at 0.
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
  std::string activation = "tanh";                      // relu, linear
  std::vector<std::int64_t> layers = {10, 7, 5, 4, 3};  // units of each, mlp
  std::int64_t blocks = 1, top_k = 0;                   // attention; 0: all keys
  std::int64_t seeds = 3;
  std::uint64_t seed = 1;
};

// Is shown every layer, [seeds, inputs, width] (attention: all tokens, then their width), and returns what goes on.
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

// Error: a name that is not known, no layers, no seeds.
std::unique_ptr<PlaneNetwork> plane_network(const PlaneNetworkOptions& options, std::int64_t features,
                                            std::int64_t classes);

}  // namespace isentropic::lab
