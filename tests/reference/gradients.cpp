// Gradients by the chain rule, with every Jacobian written out.
#include "reference/gradients.hpp"

#include <cmath>

#include "reference/forward.hpp"
#include "reference/scores.hpp"
#include "reference/weights.hpp"

namespace reference {
namespace {

double at(const Numbers& numbers, Index index) { return numbers.empty() ? 0 : numbers[index]; }

// d loss / d score of one softmax row, from Jacobians: d a_l / d s_j = a_l ([l = j] - a_j), where a are the weights
// that share the normaliser with the sink and p those that do not.
Numbers score_gradient(const Numbers& a, const Numbers& p, const Numbers& s, const Numbers& gradient_of_weight,
                       const Upstream& upstream, Index r) {
  const std::size_t n = a.size();
  double mean = 0;
  for (std::size_t l = 0; l < n; ++l) mean += p[l] * s[l];
  Numbers out(n, 0);
  for (std::size_t j = 0; j < n; ++j) {
    double entropy = 0, first = p[j], second = 2 * s[j] * p[j], collision = 0;
    out[j] += at(upstream.log_partition, r) * a[j];
    for (std::size_t l = 0; l < n; ++l) {
      const double same = l == j ? 1 : 0;
      const double da = a[l] * (same - a[j]);
      const double dp = p[l] * (same - p[j]);
      out[j] += gradient_of_weight[l] * da;
      if (p[l] > 0) entropy -= (std::log(p[l]) + 1) * dp;
      first += s[l] * dp;
      second += s[l] * s[l] * dp;
      collision += 2 * p[l] * dp;
    }
    out[j] += at(upstream.entropy, r) * entropy + at(upstream.mean_score, r) * first +
              at(upstream.score_variance, r) * (second - 2 * mean * first) + at(upstream.collision, r) * collision;
  }
  return out;
}

}  // namespace

double loss(const Problem& problem, const Upstream& upstream) {
  const Forward result = forward(problem);
  double sum = 0;
  for (std::size_t x = 0; x < upstream.output.size(); ++x) sum += upstream.output[x] * result.output[x];
  const auto add = [&](const Numbers& gradient, const char* name) {
    for (std::size_t r = 0; r < gradient.size(); ++r) {
      const double value = result.statistics.at(name)[r];
      if (std::isfinite(value)) sum += gradient[r] * value;
    }
  };
  add(upstream.log_partition, "log_partition");
  add(upstream.entropy, "entropy");
  add(upstream.mean_score, "mean_score");
  add(upstream.score_variance, "score_variance");
  add(upstream.collision, "collision");
  return sum;
}

Numbers finite_difference(Numbers* numbers, const std::function<double()>& function, double step) {
  Numbers out(numbers->size());
  for (std::size_t x = 0; x < numbers->size(); ++x) {
    const double here = (*numbers)[x];
    const auto moved = [&](double steps) {
      (*numbers)[x] = here + steps * step;
      return function();
    };
    out[x] = (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * step);
    (*numbers)[x] = here;
  }
  return out;
}

Numbers finite_difference(const Problem& problem, const Upstream& upstream, const Member& member, double step) {
  Problem copy = problem;
  return finite_difference(
      &member(copy), [&] { return loss(copy, upstream); }, step);
}

DenseGradients dense_gradients(const Problem& problem, const Upstream& upstream) {
  const Index rows = problem.batch * problem.heads * problem.n_q;
  DenseGradients out;
  out.query.assign(problem.query.size(), 0);
  out.key.assign(problem.key.size(), 0);
  out.value.assign(problem.value.size(), 0);
  out.lambda.assign(rows, 0);
  out.score.assign(rows * problem.n_k, 0);
  out.sink.assign(problem.heads, 0);
  for (Index b = 0; b < problem.batch; ++b) {
    for (Index h = 0; h < problem.heads; ++h) {
      for (Index i = 0; i < problem.n_q; ++i) {
        const Index r = problem.row(b, h, i);
        const ScoreRow scores = score_row(problem, b, h, i);
        if (scores.visible == 0) {
          if (!problem.sink.empty()) out.sink[h] += at(upstream.log_partition, r);  // L is the sink's logit
          continue;
        }
        const WeightRow row = weight_row(problem, b, h, i, scores);
        Numbers gradient_of_weight(problem.n_k, 0);
        double weighted = 0;
        for (Index j = 0; j < problem.n_k; ++j) {
          const double kept =
              problem.keep.empty() ? 1 : (problem.keep[problem.cell(b, h, i, j)] ? 1 / (1 - problem.dropout) : 0);
          const Index value = problem.value_row(b, h, j) - problem.value.data();
          for (Index t = 0; t < problem.d_v; ++t) {
            const double g = at(upstream.output, r * problem.d_v + t);
            gradient_of_weight[j] += kept * g * problem.value[value + t];
            out.value[value + t] += kept * row.used[j] * g;
          }
          weighted += row.weight[j] * gradient_of_weight[j];
        }
        const Numbers p = softmax(row.score, row.chosen);
        const Numbers ds = score_gradient(row.weight, p, row.score, gradient_of_weight, upstream, r);
        double in_keys = 0;
        for (double a : row.weight) in_keys += a;
        out.sink[h] += (1 - in_keys) * (at(upstream.log_partition, r) - weighted);

        const Index query = problem.query_row(b, h, i) - problem.query.data();
        for (Index j = 0; j < problem.n_k; ++j) {
          const double before_noise = problem.map.kind == MapKind::gumbel ? ds[j] / problem.map.tau : ds[j];
          out.score[problem.cell(b, h, i, j)] = before_noise;
          const double cap = problem.soft_cap;
          const double slope = cap > 0 ? 1 - std::pow(std::tanh(scores.scaled[j] / cap), 2) : 1;
          const double dx = before_noise * slope;
          out.lambda[r] += dx * scores.raw[j];
          const Index key = problem.key_row(b, h, j) - problem.key.data();
          for (Index t = 0; t < problem.d; ++t) {
            out.query[query + t] += scores.lambda * dx * problem.key[key + t];
            out.key[key + t] += scores.lambda * dx * problem.query[query + t];
          }
        }
      }
    }
  }
  return out;
}

}  // namespace reference
