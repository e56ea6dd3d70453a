// Calls the library's softmax loss on tables of doubles.
#include "ledger/contrast/losses.hpp"

#include <algorithm>
#include <numeric>

#include "experiments/tools/kernels.hpp"

namespace isentropic::ledger::contrast {
namespace {

using information::Table;

View matrix(const Table& table) {
  return View(table.values.data(), {static_cast<std::int64_t>(table.rows), static_cast<std::int64_t>(table.columns)});
}

template <class T>
View vector(const std::vector<T>& values) {
  return values.empty() ? View() : View(values.data(), {static_cast<std::int64_t>(values.size())});
}

SoftmaxLossProblem problem_of(const Contrast& contrast, Self self) {
  return {.query = matrix(contrast.query),
          .key = matrix(contrast.key),
          .target = vector(contrast.target),
          .scale = 1 / contrast.temperature,
          .bias = vector(contrast.bias),
          .exclude_self = self == Self::excluded,
          .executor = &serial_executor()};
}

}  // namespace

std::vector<double> losses_of(const Contrast& contrast, Self self) {
  return softmax_loss(problem_of(contrast, self)).loss;
}

std::vector<double> single_precision_losses_of(const Contrast& contrast) {
  const auto rounded = [](const std::vector<double>& values) {
    return std::vector<float>(values.begin(), values.end());
  };
  const std::vector<float> query = rounded(contrast.query.values), key = rounded(contrast.key.values),
                           bias = rounded(contrast.bias);
  SoftmaxLossProblem problem = problem_of(contrast, Self::seen);
  const auto d = static_cast<std::int64_t>(contrast.query.columns);
  problem.query = View(query.data(), {static_cast<std::int64_t>(contrast.query.rows), d});
  problem.key = View(key.data(), {static_cast<std::int64_t>(contrast.key.rows), d});
  problem.bias = vector(bias);
  return softmax_loss(problem).loss;
}

double mean_loss(const Contrast& contrast) {
  double sum = 0;
  for (double loss : losses_of(contrast)) sum += loss;
  return sum / static_cast<double>(contrast.query.rows);
}

double bound_of(const Contrast& contrast) {
  return std::log(static_cast<double>(contrast.key.rows)) - mean_loss(contrast);
}

LossGradients gradients_of(const Contrast& contrast, std::span<const double> weights) {
  const SoftmaxLossProblem problem = problem_of(contrast, Self::seen);
  std::vector<double> up(contrast.query.rows, 1.0);
  if (!weights.empty()) up.assign(weights.begin(), weights.end());
  const SoftmaxLossGradients gradients = softmax_loss_backward(problem, softmax_loss(problem), {.loss = vector(up)});
  return {Table(contrast.query.rows, contrast.query.columns, gradients.query.to_doubles()),
          Table(contrast.key.rows, contrast.key.columns, gradients.key.to_doubles())};
}

Contrast classes(const std::vector<double>& logits) {
  Contrast out{Table(logits.size(), 1, 1.0), Table(logits.size(), 1, logits), std::vector<std::int64_t>(logits.size())};
  std::iota(out.target.begin(), out.target.end(), 0);
  return out;
}

double cross_entropy(std::span<const double> target, const std::vector<double>& logits) {
  return dot(target, losses_of(classes(logits)));
}

// Scores are keys of one coordinate under the query 1, so their gradient is that of the keys.
std::vector<double> attention_score_gradient(const std::vector<double>& scores, const Table& values,
                                             const std::vector<double>& upstream) {
  const double one = 1;
  const auto n = static_cast<std::int64_t>(scores.size()), d = static_cast<std::int64_t>(values.columns);
  const AttentionProblem problem{.query = View(&one, {1, 1, 1, 1}),
                                 .key = View(scores.data(), {1, 1, n, 1}),
                                 .value = experiments::tools::view_of(values),
                                 .scale = Scale::constant(1),
                                 .executor = &serial_executor()};
  return attention_backward(problem, attention(problem), {.output = View(upstream.data(), {1, 1, 1, d})})
      .key.to_doubles();
}

double largest_gap(std::span<const double> x, std::span<const double> y) {
  double gap = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double here = std::abs(x[i] - y[i]);
    if (std::isnan(here)) return here;
    gap = std::max(gap, here);
  }
  return gap;
}

double relative_gap(std::span<const double> x, std::span<const double> y, double floor) {
  double square = 0;
  for (std::size_t i = 0; i < x.size(); ++i) square += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(square) / std::max(norm(y), floor);
}

std::vector<double> times(double factor, std::span<const double> x) {
  std::vector<double> out(x.begin(), x.end());
  for (double& value : out) value *= factor;
  return out;
}

void normalise_rows(Table* table) {
  for (std::size_t i = 0; i < table->rows; ++i) {
    const double length = norm(table->row(i));
    for (double& x : table->row(i)) x /= length;
  }
}

std::vector<double> softmax_by_hand(std::span<const double> scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  std::vector<double> out;
  double sum = 0;
  for (double s : scores) sum += out.emplace_back(std::exp(s - largest));
  for (double& p : out) p /= sum;
  return out;
}

}  // namespace isentropic::ledger::contrast
