// The network used by claims about training: its task, its gradient, and that it learns.
#include "experiments/tools/trained_network.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

namespace isentropic::experiments::tools {
namespace {

TEST(SignTask, HasAllInputsAndBalancedLabels) {
  Random random(1);
  const SignTask task = sign_task(random);
  ASSERT_EQ(task.inputs.rows, 4096u);
  std::set<std::vector<double>> distinct;
  for (std::size_t x = 0; x < 4096; ++x) {
    distinct.emplace(task.inputs.row(x).begin(), task.inputs.row(x).end());
    for (const double sign : task.inputs.row(x)) EXPECT_EQ(std::abs(sign), 1);
  }
  EXPECT_EQ(distinct.size(), 4096u);
  EXPECT_NEAR(std::accumulate(task.labels.begin(), task.labels.end(), 0.) / 4096, .5, .05);
  std::set<std::size_t> rows(task.train.begin(), task.train.end());
  rows.insert(task.test.begin(), task.test.end());
  EXPECT_EQ(task.train.size(), 3276u);
  EXPECT_EQ(rows.size(), 4096u);  // the sets are disjoint
}

class NetworkOfUnit : public testing::TestWithParam<Unit> {};

TEST_P(NetworkOfUnit, GradientIsTheDifferenceQuotient) {
  Random random(2);
  const SignTask task = sign_task(random);
  TrainedNetwork network(GetParam(), random);
  // ReLU has no derivative at 0: move the biases away from it.
  for (double& x : network.parameters()) x += .05 * random.normal();
  const std::vector<std::size_t> rows(task.train.begin(), task.train.begin() + 20);
  std::vector<double> gradient;
  network.loss(task, rows, &gradient);
  for (std::size_t p = 0; p < network.parameters().size(); p += 7) {
    double& x = network.parameters()[p];
    const double kept = x, step = 1e-6;
    x = kept + step;
    const double above = network.loss(task, rows, nullptr);
    x = kept - step;
    const double below = network.loss(task, rows, nullptr);
    x = kept;
    EXPECT_NEAR(gradient[p], (above - below) / (2 * step), 1e-7) << p;
  }
}

INSTANTIATE_TEST_SUITE_P(Units, NetworkOfUnit, testing::Values(Unit::tanh, Unit::relu, Unit::linear));

TEST(TrainedNetwork, LearnsAndRepeatsItself) {
  const auto trained = [](std::uint64_t seed) {
    Random random(seed);
    const SignTask task = sign_task(random);
    TrainedNetwork network(Unit::tanh, random);
    const double before = network.accuracy(task, task.test);
    for (int epoch = 0; epoch < 60; ++epoch) network.epoch(task, random);
    EXPECT_LT(before, .7);
    EXPECT_GT(network.accuracy(task, task.train), .8);
    return network.accuracy(task, task.test);
  };
  EXPECT_EQ(trained(3), trained(3));
}

// Layers are those of the forward pass, rounded, and each is a function of the previous one.
TEST(TrainedNetwork, LayersHaveTheirSizes) {
  Random random(4);
  const SignTask task = sign_task(random);
  const TrainedNetwork network(Unit::tanh, random);
  const std::vector<information::Table> layers = network.layers(task.inputs);
  ASSERT_EQ(layers.size(), kLayers);
  const std::size_t sizes[] = {10, 7, 5, 4, 3};
  for (std::size_t l = 0; l < kLayers; ++l) {
    EXPECT_EQ(layers[l].rows, 4096u);
    EXPECT_EQ(layers[l].columns, sizes[l]);
    for (const double x : layers[l].values) EXPECT_EQ(x, static_cast<float>(x));
  }
}

}  // namespace
}  // namespace isentropic::experiments::tools
