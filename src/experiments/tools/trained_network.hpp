// The network of random_network.hpp while it learns a label of twelve signs, in plain C++: enough for claims about
// training without libtorch.
//
// The task, after Shwartz-Ziv and Tishby 2017: all 4096 inputs x of twelve signs. With J a symmetric matrix and b a
// vector, both normal,
//
//   f(x) = x' J x + .01 b' x,   P(y = 1 | x) = (1 + tanh(4 (f - median) / deviation)) / 2,
//
// and one label is drawn per input and kept fixed. Four fifths of the inputs are used for training.
//
// The network 12-10-7-5-4-3 with two logits is trained with Adam on the cross-entropy. Weights are initialised as in
// random_network.hpp, biases at 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "experiments/tools/adam.hpp"
#include "experiments/tools/random_network.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::experiments::tools {

struct SignTask {
  information::Table inputs = {};         // 4096 x 12
  std::vector<std::int64_t> labels = {};  // 0 or 1
  std::vector<std::size_t> train = {}, test = {};
};

SignTask sign_task(Random& random);

class TrainedNetwork {
 public:
  TrainedNetwork(Unit unit, Random& random);

  // One pass over the training inputs, in an order drawn from `random`.
  void epoch(const SignTask& task, Random& random, double rate = 3e-3, std::size_t batch = 64);

  // The activations of the five hidden layers, one input per row. Each is computed from the previous one's float32
  // values and rounded to float32, so that exact information cannot increase with depth.
  std::vector<information::Table> layers(const information::Table& inputs) const;
  // The fraction of correct answers on the given rows.
  double accuracy(const SignTask& task, const std::vector<std::size_t>& rows) const;

  // The mean cross-entropy over the given rows in nats, and its gradient unless null, in the order of parameters().
  double loss(const SignTask& task, const std::vector<std::size_t>& rows, std::vector<double>* gradient) const;
  std::vector<double>& parameters() { return parameters_; }

 private:
  struct Layer {
    std::size_t inputs, outputs, weights, biases;  // weights, biases: where they begin
  };
  // values[l + 1] = unit(values[l] W_l + b_l); the last ones are logits.
  void forward(std::span<const double> input, std::vector<std::vector<double>>* values) const;
  void backward(std::int64_t label, const std::vector<std::vector<double>>& values, std::span<double> gradient) const;

  Unit unit_;
  std::vector<Layer> layers_;
  std::vector<double> parameters_;
  Adam adam_;
};

}  // namespace isentropic::experiments::tools
