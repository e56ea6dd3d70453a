// Gradient descent on one row of scores.
#include "ledger/attention_entropy/descent.hpp"

#include <algorithm>
#include <cmath>

#include "ledger/check.hpp"

namespace isentropic::ledger::attention_entropy {
namespace {

const double kOne = 1;

std::int64_t size(std::size_t n) { return static_cast<std::int64_t>(n); }

// One query 1 over the scores as keys: s_j = 1 * s_j.
AttentionProblem row_problem(std::span<const double> scores, View value) {
  return {.query = View(&kOne, {1, 1, 1, 1}),
          .key = View(scores.data(), {1, 1, size(scores.size()), 1}),
          .value = std::move(value),
          .scale = Scale::constant(1),
          .statistics = Statistics::of({Statistic::entropy}),
          .executor = &serial_executor()};
}

}  // namespace

std::vector<double> entropy_gradient_of(std::span<const double> scores) {
  const std::vector<double> nothing(scores.size(), 0.0);
  const AttentionProblem problem = row_problem(scores, View(nothing.data(), {1, 1, size(scores.size()), 1}));
  return attention_backward(problem, attention(problem), {.entropy = View(&kOne, {1, 1, 1})}).key.to_doubles();
}

std::vector<double> descend_entropy(std::vector<double> scores, double lambda, double rate, int steps) {
  for (int t = 0; t < steps; ++t) {
    const std::vector<double> gradient = entropy_gradient_of(scores);
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] -= rate * lambda * gradient[i];
  }
  return scores;
}

CubeDescent descend_in_cube(std::size_t n, double half_range, Random* random) {
  std::vector<double> scores(n);
  for (double& s : scores) s = random->uniform(-half_range, half_range);
  // Gradients are of order 1/n.
  const double rate = 0.3 * static_cast<double>(n);
  for (int t = 0; t < 150; ++t) {
    const std::vector<double> gradient = entropy_gradient_of(scores);
    for (std::size_t i = 0; i < n; ++i) scores[i] = std::clamp(scores[i] - rate * gradient[i], -half_range, half_range);
  }
  const auto inside =
      std::count_if(scores.begin(), scores.end(), [&](double s) { return std::abs(s) < half_range * (1 - 1e-6); });
  return {entropy_of(scores), static_cast<std::size_t>(inside)};
}

FetchTask fetch_task(std::size_t n, std::size_t d, Random* random) { return {Table(n, d, random->normals(n * d)), 3}; }

std::int64_t Learning::steps_to(double share) const {
  for (std::size_t t = 0; t < loss.size(); ++t)
    if (loss[t] < share * loss.front()) return size(t);
  return -1;
}

Learning learn_to_fetch(const FetchTask& task, std::vector<double> scores, int steps, double rate) {
  Learning out;
  const std::size_t d = task.values.columns;
  for (int t = 0; t < steps; ++t) {
    const AttentionProblem problem = row_problem(scores, view_of(task.values));
    const AttentionResult forward = attention(problem);
    std::vector<double> error = forward.output.to_doubles();
    double loss = 0;
    for (std::size_t x = 0; x < d; ++x) {
      error[x] -= task.values(task.target, x);
      loss += error[x] * error[x] / 2;
    }
    out.loss.push_back(loss);
    out.entropy.push_back(entropy(forward.rows.record(0)));
    const std::vector<double> gradient =
        attention_backward(problem, forward, {.output = View(error.data(), {1, 1, 1, size(d)})}).key.to_doubles();
    double squares = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      squares += gradient[i] * gradient[i];
      scores[i] -= rate * gradient[i];
    }
    if (t == 0) out.first_gradient = std::sqrt(squares);
  }
  return out;
}

}  // namespace isentropic::ledger::attention_entropy
