// Draws the task, and runs the network forward and backward.
#include "experiments/tools/trained_network.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "experiments/tools/estimate.hpp"

namespace isentropic::experiments::tools {
namespace {

using information::Table;

constexpr std::size_t kBits = 12, kInputs = std::size_t{1} << kBits;
constexpr std::size_t kSizes[] = {kBits, 10, 7, 5, 4, 3, 2};

std::size_t parameter_count() {
  std::size_t out = 0;
  for (std::size_t l = 0; l + 1 < std::size(kSizes); ++l) out += (kSizes[l] + 1) * kSizes[l + 1];
  return out;
}

// f(x) of every input.
std::vector<double> energies(const Table& inputs, Random& random) {
  Table coupling(kBits, kBits);
  for (std::size_t i = 0; i < kBits; ++i)
    for (std::size_t j = 0; j <= i; ++j) coupling(i, j) = coupling(j, i) = random.normal();
  const std::vector<double> field = random.normals(kBits);
  std::vector<double> out(inputs.rows);
  for (std::size_t x = 0; x < inputs.rows; ++x)
    for (std::size_t i = 0; i < kBits; ++i) {
      out[x] += .01 * field[i] * inputs(x, i);
      for (std::size_t j = 0; j < kBits; ++j) out[x] += inputs(x, i) * coupling(i, j) * inputs(x, j);
    }
  return out;
}

// The derivative of a unit as a function of its output.
double slope_at(Unit unit, double value) {
  switch (unit) {
    case Unit::tanh:
      return 1 - value * value;
    case Unit::relu:
      return value > 0 ? 1 : 0;
    case Unit::linear:
      break;
  }
  return 1;
}

}  // namespace

SignTask sign_task(Random& random) {
  SignTask out{Table(kInputs, kBits), std::vector<std::int64_t>(kInputs)};
  for (std::size_t x = 0; x < kInputs; ++x)
    for (std::size_t b = 0; b < kBits; ++b) out.inputs(x, b) = (x >> b & 1) ? 1 : -1;
  const std::vector<double> f = energies(out.inputs, random);
  std::vector<double> sorted = f;
  std::ranges::sort(sorted);
  const double median = (sorted[kInputs / 2 - 1] + sorted[kInputs / 2]) / 2, deviation = mean_over(f).deviation();
  for (std::size_t x = 0; x < kInputs; ++x)
    out.labels[x] = random.uniform() < (1 + std::tanh(4 * (f[x] - median) / deviation)) / 2;
  std::vector<std::size_t> order(kInputs);
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(&order);
  const auto cut = order.begin() + kInputs * 4 / 5;
  out.train.assign(order.begin(), cut);
  out.test.assign(cut, order.end());
  return out;
}

TrainedNetwork::TrainedNetwork(Unit unit, Random& random)
    : unit_(unit), parameters_(parameter_count()), adam_(parameter_count()) {
  std::size_t at = 0;
  for (std::size_t l = 0; l + 1 < std::size(kSizes); ++l) {
    const Layer layer{kSizes[l], kSizes[l + 1], at, at + kSizes[l] * kSizes[l + 1]};
    const double deviation = 1 / std::sqrt(static_cast<double>(layer.inputs));
    for (std::size_t w = layer.weights; w < layer.biases; ++w) parameters_[w] = deviation * cut_normal(random);
    at = layer.biases + layer.outputs;
    layers_.push_back(layer);
  }
}

void TrainedNetwork::forward(std::span<const double> input, std::vector<std::vector<double>>* values) const {
  values->resize(layers_.size() + 1);
  (*values)[0].assign(input.begin(), input.end());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    const std::vector<double>& below = (*values)[l];
    std::vector<double>& out = (*values)[l + 1];
    out.assign(&parameters_[layer.biases], &parameters_[layer.biases] + layer.outputs);
    for (std::size_t i = 0; i < layer.inputs; ++i)
      for (std::size_t o = 0; o < layer.outputs; ++o)
        out[o] += below[i] * parameters_[layer.weights + i * layer.outputs + o];
    if (l + 1 < layers_.size())
      for (double& x : out) x = apply(unit_, x);
  }
}

// `error` is d loss / d (pre-activation), from the logits down.
void TrainedNetwork::backward(std::int64_t label, const std::vector<std::vector<double>>& values,
                              std::span<double> gradient) const {
  const std::vector<double>& logits = values.back();
  const double second = 1 / (1 + std::exp(logits[0] - logits[1]));  // the probability of label 1
  const double miss = second - static_cast<double>(label);
  std::vector<double> error = {-miss, miss};
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const Layer& layer = layers_[l];
    const std::vector<double>& below = values[l];
    std::vector<double> next(layer.inputs);
    for (std::size_t i = 0; i < layer.inputs; ++i)
      for (std::size_t o = 0; o < layer.outputs; ++o) {
        const std::size_t w = layer.weights + i * layer.outputs + o;
        gradient[w] += below[i] * error[o];
        next[i] += parameters_[w] * error[o];
      }
    for (std::size_t o = 0; o < layer.outputs; ++o) gradient[layer.biases + o] += error[o];
    for (std::size_t i = 0; i < layer.inputs && l > 0; ++i) next[i] *= slope_at(unit_, below[i]);
    error = std::move(next);
  }
}

double TrainedNetwork::loss(const SignTask& task, const std::vector<std::size_t>& rows,
                            std::vector<double>* gradient) const {
  if (gradient) gradient->assign(parameters_.size(), 0);
  std::vector<std::vector<double>> values;
  double out = 0;
  for (const std::size_t row : rows) {
    forward(task.inputs.row(row), &values);
    const double gap = (values.back()[1] - values.back()[0]) * (task.labels[row] == 1 ? -1 : 1);
    out += std::max(gap, 0.) + std::log1p(std::exp(-std::abs(gap)));  // log(1 + e^gap)
    if (gradient) backward(task.labels[row], values, *gradient);
  }
  const double count = static_cast<double>(rows.size());
  if (gradient)
    for (double& x : *gradient) x /= count;
  return out / count;
}

void TrainedNetwork::epoch(const SignTask& task, Random& random, double rate, std::size_t batch) {
  std::vector<std::size_t> order = task.train;
  random.shuffle(&order);
  std::vector<double> gradient;
  for (std::size_t begin = 0; begin < order.size(); begin += batch) {
    const std::size_t end = std::min(begin + batch, order.size());
    loss(task, {order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + static_cast<std::ptrdiff_t>(end)},
         &gradient);
    adam_.descend(parameters_, gradient, rate);
  }
}

std::vector<Table> TrainedNetwork::layers(const Table& inputs) const {
  std::vector<Table> out;
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    const Table& below = l == 0 ? inputs : out.back();
    Table values(inputs.rows, layer.outputs);
    for (std::size_t x = 0; x < inputs.rows; ++x)
      for (std::size_t o = 0; o < layer.outputs; ++o) {
        double sum = parameters_[layer.biases + o];
        for (std::size_t i = 0; i < layer.inputs; ++i)
          sum += below(x, i) * parameters_[layer.weights + i * layer.outputs + o];
        values(x, o) = static_cast<float>(apply(unit_, sum));
      }
    out.push_back(std::move(values));
  }
  return out;
}

double TrainedNetwork::accuracy(const SignTask& task, const std::vector<std::size_t>& rows) const {
  std::vector<std::vector<double>> values;
  double right = 0;
  for (const std::size_t row : rows) {
    forward(task.inputs.row(row), &values);
    right += (values.back()[1] > values.back()[0]) == (task.labels[row] == 1);
  }
  return right / static_cast<double>(rows.size());
}

}  // namespace isentropic::experiments::tools
