// Scores by their formula: scale, cap, bias, noise.
#include "reference/scores.hpp"

#include <algorithm>
#include <cmath>

#include "reference/mask.hpp"

namespace reference {
namespace {

double entropy_at(const Numbers& raw, double lambda) {
  double top = lambda * raw[0];
  for (double r : raw) top = std::max(top, lambda * r);
  double z = 0;
  for (double r : raw) z += std::exp(lambda * r - top);
  double h = 0;
  for (double r : raw) {
    const double p = std::exp(lambda * r - top) / z;
    if (p > 0) h -= p * std::log(p);
  }
  return h;
}

double feature(Feature kind, double x) {
  switch (kind) {
    case Feature::elu_plus_one:
      return x > 0 ? x + 1 : std::exp(x);
    case Feature::relu:
      return x > 0 ? x : 0;
    case Feature::exp:
      return std::exp(x);
    case Feature::identity:
      return x;
  }
  return x;
}

double raw_score(const Problem& problem, Index b, Index h, Index i, Index j) {
  const double* q = problem.query_row(b, h, i);
  const double* k = problem.key_row(b, h, j);
  const bool featured = problem.map.kind == MapKind::linear;
  double sum = 0, of_keys = 1;
  if (problem.map.sharpen > 0) {
    const Index n = problem.mask.key_lengths.empty() ? problem.n_k : problem.mask.key_lengths[b];
    of_keys = problem.map.sharpen * std::sqrt(2 * std::log(static_cast<double>(std::max<Index>(n, 1))));
  }
  for (Index t = 0; t < problem.d; ++t) {
    sum += featured ? feature(problem.map.feature, q[t]) * feature(problem.map.feature, of_keys * k[t]) : q[t] * k[t];
  }
  return sum;
}

double bias_at(const Problem& problem, Index b, Index h, Index i, Index j) {
  const Bias& bias = problem.bias;
  const Index away = distance(problem, b, i, j);
  switch (bias.kind) {
    case BiasKind::none:
      return 0;
    case BiasKind::dense:
      return bias.dense[problem.cell(b, h, i, j)];
    case BiasKind::alibi:
      return -bias.slopes[h] * std::abs(static_cast<double>(away));
    case BiasKind::relative:
      return bias.table[h * (2 * bias.reach + 1) + std::clamp(away, -bias.reach, bias.reach) + bias.reach];
  }
  return 0;
}

double lambda_of(const Problem& problem, Index b, Index h, Index i, ScoreRow* row) {
  const Scale& scale = problem.scale;
  if (scale.law == Law::per_row) return scale.rows[problem.row(b, h, i)];
  if (scale.law == Law::target_entropy) {
    Numbers raw;
    for (Index j = 0; j < problem.n_k; ++j) {
      if (row->seen[j]) raw.push_back(row->raw[j]);
    }
    return solve_entropy(raw, scale.parameters[0][h], &row->reach);
  }
  return law_value(scale, {row->visible, problem.d, query_place(problem, b, i).position, h});
}

}  // namespace

double law_value(const Scale& scale, const LawRow& row) {
  const double n = static_cast<double>(row.visible);
  const double d = static_cast<double>(row.d);
  const double length = static_cast<double>(scale.length);
  const auto parameter = [&](int which) { return scale.parameters[which][row.head]; };
  switch (scale.law) {
    case Law::inverse_sqrt_d:
      return 1 / std::sqrt(d);
    case Law::log_n:
      return parameter(0) * std::log(n) / d;
    case Law::log_n_sqrt_d:
      return parameter(0) * std::log(n) / std::sqrt(d);
    case Law::sqrt_log_n:
      return parameter(0) * std::sqrt(std::log(n) / d);
    case Law::frozen:
      return parameter(0) * std::log(length) / d;
    case Law::hybrid:
      return parameter(0) / std::sqrt(d) + parameter(1) * std::log(n) / d;
    case Law::trained_length:
      return std::max(1.0, std::log(n) / std::log(length)) / std::sqrt(d);
    case Law::info_scale:
      return std::sqrt((1 - std::pow(n, -2 / d)) / (1 - std::pow(length, -2 / d)) / d);
    case Law::ssmax:
      return parameter(0) * std::log(n);
    case Law::yarn:
      return std::pow(0.1 * parameter(1) * std::log(parameter(0)) + 1, 2) / std::sqrt(d);
    case Law::llama4: {
      // A query before the first key (aligned to the end of fewer keys) has not taken any step.
      const double steps = std::max(0.0, std::floor(static_cast<double>(row.position + 1) / length));
      return (1 + parameter(0) * std::log(1 + steps)) / std::sqrt(d);
    }
    case Law::constant:
      return parameter(0);
    case Law::per_row:
    case Law::target_entropy:
      break;
  }
  return std::nan("");
}

double solve_entropy(const Numbers& raw, double target, Reach* reach) {
  Reach unused;
  if (reach == nullptr) reach = &unused;
  *reach = Reach::above;
  if (raw.empty() || target >= std::log(static_cast<double>(raw.size()))) return 0;
  *reach = Reach::below;
  double high = 1;
  for (int doubling = 0; entropy_at(raw, high) > target; ++doubling) {
    if (doubling == 200) return high;
    high *= 2;
  }
  *reach = Reach::solved;
  double low = 0;
  for (int halving = 0; halving < 200; ++halving) {
    const double middle = 0.5 * (low + high);
    (entropy_at(raw, middle) > target ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

ScoreRow score_row(const Problem& problem, Index b, Index h, Index i) {
  ScoreRow row;
  row.seen.assign(problem.n_k, 0);
  row.raw.assign(problem.n_k, 0);
  row.scaled.assign(problem.n_k, 0);
  row.score.assign(problem.n_k, 0);
  for (Index j = 0; j < problem.n_k; ++j) {
    if (!visible(problem, b, h, i, j)) continue;
    row.seen[j] = 1;
    ++row.visible;
    row.raw[j] = raw_score(problem, b, h, i, j);
  }
  if (row.visible == 0) return row;
  row.lambda = lambda_of(problem, b, h, i, &row);
  for (Index j = 0; j < problem.n_k; ++j) {
    if (!row.seen[j]) continue;
    row.scaled[j] = row.lambda * row.raw[j];
    const double cap = problem.soft_cap;
    row.score[j] = cap > 0 ? cap * std::tanh(row.scaled[j] / cap) : row.scaled[j];
    row.score[j] += bias_at(problem, b, h, i, j);
    if (!problem.mask.dense_additive.empty()) row.score[j] += problem.mask.dense_additive[problem.cell(b, h, i, j)];
    if (problem.map.kind == MapKind::gumbel) {
      row.score[j] = (row.score[j] + problem.map.noise[problem.cell(b, h, i, j)]) / problem.map.tau;
    }
  }
  return row;
}

Problem with_explicit_scale(const Problem& problem) {
  Problem out = problem;
  out.scale = Scale{};
  out.scale.law = Law::per_row;
  out.scale.rows.assign(problem.batch * problem.heads * problem.n_q, 0);
  for (Index b = 0; b < problem.batch; ++b) {
    for (Index h = 0; h < problem.heads; ++h) {
      for (Index i = 0; i < problem.n_q; ++i) out.scale.rows[problem.row(b, h, i)] = score_row(problem, b, h, i).lambda;
    }
  }
  return out;
}

}  // namespace reference
