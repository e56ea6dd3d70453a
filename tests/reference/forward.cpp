// Attention by its definition: all weights, then the output and every statistic.
#include "reference/forward.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/mask.hpp"
#include "reference/weights.hpp"

namespace reference {
namespace {

using Values = std::map<std::string, double>;

// Entropy of p / sum p over the flagged keys.
double entropy_of(const Numbers& p, const std::vector<char>& flags) {
  double total = 0;
  for (std::size_t j = 0; j < p.size(); ++j) total += flags[j] ? p[j] : 0;
  double h = 0;
  for (std::size_t j = 0; j < p.size(); ++j) {
    if (flags[j] && p[j] != 0) h -= p[j] / total * std::log(p[j] / total);
  }
  return h;
}

// Statistics every map has: the shape of its weights, whatever their sign and sum.
Values plain_statistics(const Numbers& a, const WeightRow& row, Index visible) {
  double l1 = 0, l2 = 0, most = 0;
  for (double x : a) {
    l1 += std::abs(x);
    l2 += x * x;
    most = std::max(most, std::abs(x));
  }
  const Index top = argmax(row.score, row.chosen);
  return {{"visible", static_cast<double>(visible)},
          {"argmax", static_cast<double>(top)},
          {"max_score", top < 0 ? -std::numeric_limits<double>::infinity() : row.score[top]},
          {"peak", most},
          {"collision", l2},
          {"participation", l2 == 0 ? 0 : l1 * l1 / l2},
          {"sparsity", l2 == 0 ? 0 : l1 / std::sqrt(static_cast<double>(visible) * l2)}};
}

void add_entropies(const Numbers& p, const WeightRow& row, Index visible, Values* out) {
  double total = 0;
  for (double x : p) total += x;
  const double h = entropy_of(p, row.chosen);
  (*out)["entropy"] = h;
  (*out)["normalised_entropy"] = visible > 1 ? h / std::log(static_cast<double>(visible)) : 0;
  (*out)["effective_keys"] = total == 0 ? 0 : std::exp(h);
}

void add_softmax_statistics(const Problem& problem, Index h, const Numbers& p, const WeightRow& row, Index visible,
                            Values* out) {
  double mean = 0, variance = 0;
  for (std::size_t j = 0; j < p.size(); ++j) mean += p[j] == 0 ? 0 : p[j] * row.score[j];
  for (std::size_t j = 0; j < p.size(); ++j) variance += p[j] == 0 ? 0 : p[j] * std::pow(row.score[j] - mean, 2);
  (*out)["mean_score"] = mean;
  (*out)["score_variance"] = variance;
  const double keys = log_sum_exp(row.score, row.chosen);
  (*out)["log_partition"] = keys;
  if (problem.sink.empty()) return;
  const double sink = problem.sink[h];
  const double top = std::max(keys, sink);
  const double all = visible == 0 ? sink : top + std::log(std::exp(keys - top) + std::exp(sink - top));
  (*out)["log_partition"] = all;
  (*out)["sink_mass"] = std::exp(sink - all);
}

void add_groups(const Problem& problem, Index b, Index i, const Numbers& p, const WeightRow& row, Values* out) {
  double first = 0, recent = 0, away = 0;
  std::vector<char> others = row.chosen;
  for (Index j = 0; j < problem.n_k; ++j) {
    if (!row.chosen[j]) continue;
    const Index x = key_place(problem, b, j).position;
    const Index back = distance(problem, b, i, j);
    away += p[j] * static_cast<double>(back);
    if (x < problem.groups.first) {
      first += p[j];
      others[j] = 0;
    } else if (0 <= back && back < problem.groups.recent) {
      recent += p[j];
    }
  }
  (*out)["first_mass"] = first;
  (*out)["recent_mass"] = recent;
  // The conditional distribution is computed from the scores: dividing the rest of p by 1 - first_mass would lose all
  // digits when the first keys take everything.
  (*out)["entropy_without_first"] = entropy_of(softmax(row.score, others), others);
  (*out)["mean_distance"] = away;
}

}  // namespace

Forward forward(const Problem& problem) {
  Forward out;
  const Index rows = problem.batch * problem.heads * problem.n_q;
  out.output.assign(rows * problem.d_v, 0);
  out.weights.assign(rows * problem.n_k, 0);
  out.key_mass.assign(problem.batch * problem.heads * problem.n_k, 0);
  out.lambda.assign(rows, 0);
  out.visible.assign(rows, 0);
  out.reach.assign(rows, Reach::solved);
  out.selected.resize(rows);
  for (Index b = 0; b < problem.batch; ++b) {
    for (Index h = 0; h < problem.heads; ++h) {
      for (Index i = 0; i < problem.n_q; ++i) {
        const Index r = problem.row(b, h, i);
        const ScoreRow scores = score_row(problem, b, h, i);
        const WeightRow row = weight_row(problem, b, h, i, scores);
        out.lambda[r] = scores.lambda;
        out.visible[r] = scores.visible;
        out.reach[r] = scores.visible == 0 ? Reach::above : scores.reach;
        for (Index j = 0; j < problem.n_k; ++j) {
          const Index cell = problem.cell(b, h, i, j);
          if (row.chosen[j]) out.selected[r].push_back(j);
          out.weights[cell] = row.weight[j];
          out.key_mass[(b * problem.heads + h) * problem.n_k + j] += row.weight[j];
          double a = row.used[j];
          if (!problem.keep.empty()) a = problem.keep[cell] ? a / (1 - problem.dropout) : 0;
          if (a == 0) continue;  // a weight of exactly 0 never touches its value
          const double* v = problem.value.empty() ? nullptr : problem.value_row(b, h, j);
          for (Index t = 0; v != nullptr && t < problem.d_v; ++t) out.output[r * problem.d_v + t] += a * v[t];
        }

        // A softmax's statistics describe the distribution over keys, given that the sink was not chosen.
        const Numbers p = is_softmax(problem.map) ? softmax(row.score, row.chosen) : row.weight;
        Values values = plain_statistics(p, row, scores.visible);
        if (is_distribution(problem.map)) add_entropies(p, row, scores.visible, &values);
        if (is_softmax(problem.map)) {
          add_softmax_statistics(problem, h, p, row, scores.visible, &values);
          const bool grouped = problem.groups.asked && problem.map.kind != MapKind::top_k;
          if (grouped) add_groups(problem, b, i, p, row, &values);
        }
        for (const auto& [name, value] : values) {
          Numbers& column = out.statistics[name];
          column.resize(rows);
          column[r] = value;
        }
      }
    }
  }
  return out;
}

Numbers second_moments(const Problem& problem) {
  Numbers out;
  for (Index b = 0; b < problem.batch; ++b) {
    for (Index h = 0; h < problem.heads; ++h) {
      for (Index i = 0; i < problem.n_q; ++i) {
        const WeightRow row = weight_row(problem, b, h, i, score_row(problem, b, h, i));
        const Numbers p = softmax(row.score, row.chosen);
        const Index top = argmax(row.score, row.chosen);
        double moment = 0;
        for (Index j = 0; j < problem.n_k; ++j) {
          if (p[j] > 0) moment += p[j] * std::pow(row.score[j] - row.score[top], 2);
        }
        out.push_back(moment);
      }
    }
  }
  return out;
}

}  // namespace reference
