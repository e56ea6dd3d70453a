// Which weights an adversary can move most.
#include <algorithm>
#include <cmath>

#include "experiments/tools/algebra.hpp"
#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/theory/attack.hpp"
#include "isentropic/theory/sensitivity.hpp"
#include "ledger/robustness/quoted_draws.hpp"
#include "ledger/robustness/subjects.hpp"

namespace isentropic::ledger::robustness {
namespace {

// |d o / d s_0| by central differences of the kernel.
double sensitivity_to_first(const std::vector<double>& s, const Table& v) {
  const double h = 1e-5;
  std::vector<double> up = s, down = s;
  up[0] += h, down[0] -= h;
  return std::abs(output_of(up, v)[0] - output_of(down, v)[0]) / (2 * h);
}

void where_sensitivity_peaks(Check& check) {
  const std::size_t n = 9;
  const std::vector<double> s = check.random().normals(n);
  const Table v(n, 2, check.random().normals(2 * n));
  const std::vector<double> a = weights_of(s), o = output_of(s, v);
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i) {
    // The output over the other keys, by the kernel.
    std::vector<double> others = s;
    Table other_values = v;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const auto begin = other_values.values.begin() + static_cast<std::ptrdiff_t>(2 * i);
    other_values.values.erase(begin, begin + 2);
    --other_values.rows;
    const std::vector<double> rest = output_of(others, other_values);
    for (std::size_t d = 0; d < 2; ++d)
      worst = std::max(worst, std::abs(a[i] * (v(i, d) - o[d]) - a[i] * (1 - a[i]) * (v(i, d) - rest[d])));
  }
  check.near("a_i (v_i - o) against a_i (1 - a_i) (v_i - o without i)", worst, 0, 1e-12);

  // The weight of key 0 grows either through its own score, with the others unchanged (their mean stays), or because
  // all scores are sharpened: then the mean of the others moves to key 1, whose value is close to that of key 0.
  const Table values{{1}, {0.9}, {-5}, {-5}, {-5}, {-5}};
  double peak = 0, peak_weight = 0;
  for (double x = -5; x <= 8; x += 0.01) {
    const std::vector<double> own = {x, 1, 0, 0, 0, 0}, sharpened = {2 * x, x, 0, 0, 0, 0};
    const std::vector<double>& row = check.choose(own, sharpened);
    if (const double found = sensitivity_to_first(row, values); found > peak)
      peak = found, peak_weight = weights_of(row)[0];
  }
  check.near("weight of key 0 where the output follows its score most", peak_weight, 0.5, 0.01);
}

// The maximum of |J d|_2 / |d|_2 of softmax at these weights: power iteration, J d by the kernel's central differences.
double searched_euclidean_norm(const std::vector<double>& weights, Random& random) {
  const std::size_t n = weights.size();
  Table unit(n, n);
  for (std::size_t i = 0; i < n; ++i) unit(i, i) = 1;
  std::vector<double> direction = random.normals(n);
  double norm = 0;
  const double h = 1e-4;
  for (int step = 0; step < 40; ++step) {
    const double length = size_in(Budget::euclidean, direction);
    Table scores(2, n);
    for (std::size_t i = 0; i < n; ++i) {
      const double s = weights[i] > 0 ? std::log(weights[i]) : -1000.0;
      scores(0, i) = s + h * direction[i] / length;
      scores(1, i) = s - h * direction[i] / length;
    }
    const Table moved = outputs_of(scores, unit);
    for (std::size_t i = 0; i < n; ++i) direction[i] = (moved(0, i) - moved(1, i)) / (2 * h);
    norm = size_in(Budget::euclidean, direction);
  }
  return norm;
}

// d o_c / d s_i of a row, [d_v, n], from the library's backward pass: one head per coordinate c.
Table output_jacobian(const std::vector<double>& s, const Table& v) {
  const auto n = static_cast<std::int64_t>(s.size()), d = static_cast<std::int64_t>(v.columns);
  const double one = 1;
  Table upstream(v.columns, v.columns);
  for (std::size_t c = 0; c < v.columns; ++c) upstream(c, c) = 1;
  const AttentionProblem problem{.query = View(&one, {1, d, 1, 1}, {0, 0, 0, 1}),
                                 .key = View(s.data(), {1, d, n, 1}, {0, 0, 1, 1}),
                                 .value = View(v.values.data(), {1, d, n, d}, {0, 0, d, 1}),
                                 .scale = Scale::constant(1),
                                 .executor = &serial_executor()};
  const AttentionUpstream along{.output = View(upstream.values.data(), {1, d, 1, d})};
  return {v.columns, s.size(), attention_backward(problem, attention(problem), along).key.to_doubles()};
}

double trace(const Table& x) {
  double out = 0;
  for (std::size_t i = 0; i < x.rows; ++i) out += x(i, i);
  return out;
}

// The largest singular value: (J J^T)^(2^30) is the projection onto its direction, or directions if they tie.
double singular_value(const Table& matrix) {
  const Table gram = product(matrix, transposed(matrix));
  if (trace(gram) < 1e-200) return 0;
  Table power = gram;
  for (int squaring = 0; squaring < 30; ++squaring) {
    const double size = trace(power);
    for (double& x : power.values) x /= size;
    power = product(power, power);
  }
  return std::sqrt(trace(product(gram, power)) / trace(power));
}

struct Sensitivity {
  double entropy = 0, euclidean = 0, infinity = 0;
};

Sensitivity sensitivity_of(std::vector<double> s, const Table& v, double tau) {
  for (double& x : s) x /= tau;
  const Table jacobian = output_jacobian(s, v);
  // Along one coordinate, with all scores moved by +-1: the l1 norm of the gradient.
  return {entropy_of(s), singular_value(jacobian), size_in(Budget::absolute, jacobian.row(0))};
}

// One row from uniform to one-hot weights: most sensitive at an entropy of 2 in l2, of 3 in inf.
void quoted_row(Check& check, const std::vector<double>& temperatures) {
  Sensitivity most_euclidean, most_infinity;
  for (const double tau : temperatures) {
    const Sensitivity found = sensitivity_of(kTemperedScores, kTemperedValues, tau);
    if (found.euclidean > most_euclidean.euclidean) most_euclidean = found;
    if (found.infinity > most_infinity.infinity) most_infinity = found;
  }
  const Sensitivity flat = sensitivity_of(kTemperedScores, kTemperedValues, temperatures.front());
  check.near("l2 sensitivity of the quoted row at uniform weights", flat.euclidean, 0.14, 0.005);
  check.near("inf sensitivity of the quoted row at uniform weights", flat.infinity, 0.774, 5e-4);
  check.near("its greatest l2 sensitivity, quoted", most_euclidean.euclidean, 1.17, 0.005);
  check.near("entropy there, quoted", most_euclidean.entropy, 2.0, 0.05);
  check.near("its greatest inf sensitivity, quoted", most_infinity.infinity, 0.906, 5e-4);
  check.near("entropy there, quoted", most_infinity.entropy, 3.0, 0.05);
}

// |J sigma|_1 at these weights for alternating signs, by central differences of the kernel.
double alternating_change(const std::vector<double>& weights) {
  const std::size_t n = weights.size();
  const double h = 1e-5;
  Table scores(2, n), unit(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    const double s = weights[i] > 0 ? std::log(weights[i]) : -1000.0, step = i % 2 == 0 ? h : -h;
    scores(0, i) = s + step;
    scores(1, i) = s - step;
    unit(i, i) = 1;
  }
  const Table moved = outputs_of(scores, unit);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += std::abs(moved(0, i) - moved(1, i)) / (2 * h);
  return sum;
}

void uniform_is_not_the_weakest(Check& check) {
  const std::size_t n = 64;
  const std::vector<double> uniform(n, 1.0 / n);
  std::vector<double> halves(n, 0);
  halves[0] = halves[1] = 0.5;
  // The maximum is 1/4 for one score and 1/2 in l2; the most attackable weights reach both.
  const std::vector<double>& weakest = check.choose(halves, uniform);
  check.near("l2 sensitivity of the most attackable weights", searched_euclidean_norm(weakest, check.random()), 0.5,
             1e-4);
  const auto one_score = [](const std::vector<double>& weights) {
    std::vector<double> s;
    for (double a : weights) s.push_back(a > 0 ? std::log(a) : -1000.0);
    Table first(s.size(), 1);
    first(0, 0) = 1;  // the output is the weight of key 0
    return sensitivity_to_first(s, first);
  };
  check.near("one-score sensitivity of the most attackable weights", one_score(weakest), 0.25, 1e-8);
  check.near("l2 sensitivity of 64 equal weights", searched_euclidean_norm(uniform, check.random()),
             softmax_euclidean_norm(uniform), 1e-7);
  check.near("the same, quoted", softmax_euclidean_norm(uniform), 0.0156, 5e-5);
  check.near("one-score sensitivity of 64 equal weights, quoted", one_score(uniform), 0.0154, 5e-5);
  check.near("change of 64 equal weights in l1 under signs in turn: as much as any weights",
             alternating_change(uniform), 1, 1e-8);
  check.near("the same of (1/2, 1/2, 0, ...)", alternating_change(halves), 1, 1e-8);
  const std::vector<double> fewer(36, 1.0 / 36);
  check.near("inf to 1 norm of 36 equal weights", softmax_infinity_norm(fewer), alternating_change(fewer), 1e-8);

  // Scores N(0, 1) / tau, from nearly uniform to nearly one-hot weights.
  const std::vector<double> temperatures = {100, 3, 1, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02};
  const auto rows = check.effort(40, 400);
  std::vector<Mean> entropies(temperatures.size()), norms(temperatures.size()), signs(temperatures.size());
  double worst = 0;
  for (std::int64_t t = 0; t < rows; ++t) {
    const std::vector<double> s = check.random().normals(n);
    const Table v(n, 8, check.random().normals(8 * n));
    for (std::size_t j = 0; j < temperatures.size(); ++j) {
      const Sensitivity found = sensitivity_of(s, v, temperatures[j]);
      entropies[j].add(found.entropy), norms[j].add(found.euclidean), signs[j].add(found.infinity);
      const std::vector<double> a = weights_of(s, 1 / temperatures[j]);
      if (t < 5) worst = std::max(worst, std::abs(found.euclidean - output_euclidean_norm(a, v)));
    }
  }
  std::vector<double> h, norm, sign;
  for (std::size_t j = 0; j < temperatures.size(); ++j) {
    h.push_back(entropies[j].mean());
    norm.push_back(norms[j].mean());
    sign.push_back(signs[j].mean());
  }
  const auto peak = static_cast<std::size_t>(std::max_element(norm.begin(), norm.end()) - norm.begin());
  check.between("entropy where the output is most sensitive in l2 (log n = 4.16)", h[peak], 0.7, 2.5);
  check.at_least("l2 sensitivity there / at uniform weights", norm[peak] / norm[0], 3);
  check.near("l2 norm from the backward pass - its formula, worst", worst, 0, 1e-8);
  quoted_row(check, temperatures);
  check.plot({.title = "Sensitivity of the output, 64 keys, scores N(0, 1) / tau",
              .x_label = "entropy of the weights (nats)",
              .y_label = "norm of the Jacobian",
              .curves = {{"l2", h, norm}, {"inf, one coordinate", h, sign}}});
}

}  // namespace

std::vector<Claim> attackable_claims() {
  using enum Verdict;
  return {
      computed("001-s13a", holds_if, "Sensitivity to a key goes like a (1 - a): greatest at weight 1/2",
               "if the mean of the other keys stays where it is: a (v - o) = a (1 - a) (v - o without the key)",
               where_sensitivity_peaks),
      computed("001-s13b", corrected, "Uniform weights, of greatest entropy, are the easiest to attack",
               "only under an inf budget on the weights, and not alone there. One score or l2: about 1/n at uniform "
               "weights against 1/4 and 1/2 at (1/2, 1/2, 0, ...)",
               uniform_is_not_the_weakest),
  };
}

}  // namespace isentropic::ledger::robustness
