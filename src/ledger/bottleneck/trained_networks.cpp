// What small networks keep of their input while learning, and how well they then do on new inputs: the closing text.
//
// Signs are not asserted: whether and by how much a layer compresses depends on the estimator, and so does the relation
// between compression and test accuracy. It is this dependence that is asserted.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "experiments/tools/layer_estimators.hpp"
#include "experiments/tools/trained_network.hpp"
#include "isentropic/information/layer_information.hpp"
#include "ledger/bottleneck/subjects.hpp"

namespace isentropic::ledger::bottleneck {
namespace {

using Estimator = experiments::tools::LayerEstimator;

constexpr std::array kEstimators = {Estimator::exact, Estimator::bins_of_range, Estimator::bins_of_width};
enum : std::size_t { kExact, kRange };
constexpr int kEpochs = 300;
constexpr std::size_t kSeeds = 4;
constexpr double kCompression = .05;  // bits: `isentropic plane` calls a drop of at least this size compression

bool is_measured(int epoch) { return epoch == kEpochs || (epoch & (epoch - 1)) == 0; }  // 0, 1, 2, 4, ..., last

struct Trained {
  std::vector<Table> layers;   // at the end
  double train = 0, test = 0;  // accuracies
  // By estimator: the drop of I(X;T) from its maximum to the end, averaged over the last two layers. Bits.
  std::array<double, kEstimators.size()> drops = {};
};

Trained train(Unit unit, const SignTask& task, Random& random) {
  TrainedNetwork network(unit, random);
  std::array<std::array<double, kEstimators.size()>, 2> highest = {}, last = {};
  for (int epoch = 0; epoch <= kEpochs; ++epoch) {
    if (epoch > 0) network.epoch(task, random);
    if (!is_measured(epoch)) continue;
    const std::vector<Table> layers = network.layers(task.inputs);
    for (std::size_t l = 0; l < 2; ++l)
      for (std::size_t e = 0; e < kEstimators.size(); ++e) {
        last[l][e] = layer_information(kEstimators[e], unit, layers[kLayers - 2 + l]);
        highest[l][e] = std::max(highest[l][e], last[l][e]);
      }
  }
  Trained out{network.layers(task.inputs), network.accuracy(task, task.train), network.accuracy(task, task.test)};
  for (std::size_t l = 0; l < 2; ++l)
    for (std::size_t e = 0; e < kEstimators.size(); ++e) out.drops[e] += (highest[l][e] - last[l][e]) / 2;
  return out;
}

std::vector<Trained> train_some(Unit unit, std::size_t seeds, const SignTask& task, Random& random) {
  std::vector<Trained> out;
  for (std::size_t s = 0; s < seeds; ++s) out.push_back(train(unit, task, random));
  return out;
}

template <class Of>
Estimate mean_of_all(const std::vector<Trained>& networks, const Of& of) {
  Mean out;
  for (const Trained& x : networks) out.add(of(x));
  return out.estimate();
}

// Pearson correlation, 0 if one of them does not vary.
double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const Mean of_x = mean_over(x), of_y = mean_over(y);
  double products = 0;
  for (std::size_t i = 0; i < x.size(); ++i) products += (x[i] - of_x.mean()) * (y[i] - of_y.mean());
  const double scale = of_x.deviation() * of_y.deviation() * static_cast<double>(x.size() - 1);
  return scale > 1e-12 ? products / scale : 0;
}

LayerInformation exactly(const Table& layer, const SignTask& task) {
  return information::layer_information(information::LayerEstimator::named("exact"), layer, task.labels);
}

}  // namespace

// tanh retains all of X and does well on new inputs; a linear network also retains all of Y and does not even fit.
void kept_information_and_fit(Check& check) {
  const SignTask task = sign_task(check.random());
  const std::vector<Trained> curved = train_some(Unit::tanh, kSeeds, task, check.random());
  const std::vector<Trained> straight = train_some(Unit::linear, 1, task, check.random());
  double least = 12;
  for (const Trained& x : curved)
    for (const Table& layer : x.layers) least = std::min(least, exactly(layer, task).input);
  check.at_least("tanh: least I(X;T) of any layer, of 12 bits, exactly", least, 11.9);
  check.at_least("tanh: test accuracy", mean_of_all(curved, [](const Trained& x) { return x.test; }).mean, .75);
  check.show("tanh: training accuracy", mean_of_all(curved, [](const Trained& x) { return x.train; }).mean);

  const double label_bits = exactly(task.inputs, task).label;
  check.near("linear: I(T;Y) of the last layer in bits, exactly", exactly(straight[0].layers.back(), task).label,
             label_bits, .02);
  check.at_most("linear: training accuracy", straight[0].train, .65);
  check.show("linear: test accuracy", straight[0].test);
}

void compression_and_accuracy(Check& check) {
  const SignTask task = sign_task(check.random());
  const std::vector<Trained> curved = train_some(Unit::tanh, kSeeds, task, check.random());
  const std::vector<Trained> rectified = train_some(Unit::relu, kSeeds, task, check.random());
  const auto drop = [](const std::vector<Trained>& networks, std::size_t e) {
    return mean_of_all(networks, [&](const Trained& x) { return x.drops[e]; });
  };
  check.near("tanh: what is lost of I(X;T), exactly", drop(curved, kExact).mean, 0, .01);
  // The same weights: one estimator finds no loss of information, another does.
  double largest = 0;
  for (const Trained& x : curved) largest = std::max(largest, x.drops[kRange]);
  check.at_least("tanh: largest drop of any network, 30 bins", largest, kCompression);
  for (const auto& [unit, networks] : {std::pair{Unit::tanh, &curved}, {Unit::relu, &rectified}}) {
    check.show(name(unit) + ": test accuracy", mean_of_all(*networks, [](const Trained& x) { return x.test; }).mean);
    for (std::size_t e = 0; e < kEstimators.size(); ++e) {
      const std::string label = fmt::format("{}: drop of I(X;T), {}", name(unit), name(kEstimators[e]));
      check.show(label, drop(*networks, e).mean);
      check.show(label + ", standard error", drop(*networks, e).error);
    }
  }
  std::vector<Trained> all = curved;
  all.insert(all.end(), rectified.begin(), rectified.end());
  std::vector<double> test;
  for (const Trained& x : all) test.push_back(x.test);
  for (std::size_t e = 0; e < kEstimators.size(); ++e) {
    std::vector<double> drops;
    for (const Trained& x : all) drops.push_back(x.drops[e]);
    check.show(
        fmt::format("correlation of the drop with test accuracy, {} networks, {}", all.size(), name(kEstimators[e])),
        correlation(drops, test));
  }
}

}  // namespace isentropic::ledger::bottleneck
