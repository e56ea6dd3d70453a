// How far any perturbation of the scores can move weights and output.
#include <algorithm>
#include <cmath>

#include "experiments/tools/kernels.hpp"
#include "isentropic/theory/attack.hpp"
#include "isentropic/theory/sensitivity.hpp"
#include "ledger/robustness/subjects.hpp"

namespace isentropic::ledger::robustness {
namespace {

double norm_of(std::span<const double> x) { return size_in(Budget::euclidean, x); }

double largest_value(const Table& v) {
  double out = 0;
  for (std::size_t i = 0; i < v.rows; ++i) out = std::max(out, norm_of(v.row(i)));
  return out;
}

Table identity(std::size_t n) {
  Table out(n, n);
  for (std::size_t i = 0; i < n; ++i) out(i, i) = 1;
  return out;
}

std::vector<double> minus(std::span<const double> a, std::span<const double> b) {
  std::vector<double> out(a.begin(), a.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] -= b[i];
  return out;
}

// One perturbation of one row, as measured by the kernel.
struct Trial {
  std::vector<double> change;   // of the scores
  std::vector<double> weights;  // change of the weights
  std::vector<double> output;   // change of the output
};

// Random scores of every spread and random changes of every size, either signs only or in any direction; calls
// `see(trial, values)`.
template <class See>
void random_trials(Check& check, std::int64_t sets, See&& see) {
  constexpr std::size_t kTrials = 100;  // these share one set of values, so that a single kernel call covers all
  for (std::int64_t set = 0; set < sets; ++set) {
    Random& random = check.random();
    const auto n = static_cast<std::size_t>(random.integer(2, 12));
    const Table values(n, 4, random.normals(4 * n));
    Table scores(2 * kTrials, n);
    for (std::size_t t = 0; t < kTrials; ++t) {
      const double spread = random.uniform(0, 4), size = random.uniform(0.01, 3);
      const bool signs = random.uniform() < 0.5;
      for (std::size_t i = 0; i < n; ++i) {
        scores(2 * t, i) = spread * random.normal();
        const double e = random.uniform(-1, 1);
        scores(2 * t + 1, i) = scores(2 * t, i) + size * (signs ? std::copysign(1.0, e) : e);
      }
    }
    const Table weights = outputs_of(scores, identity(n)), outputs = outputs_of(scores, values);
    for (std::size_t t = 0; t < kTrials; ++t)
      see(Trial{minus(scores.row(2 * t + 1), scores.row(2 * t)), minus(weights.row(2 * t + 1), weights.row(2 * t)),
                minus(outputs.row(2 * t + 1), outputs.row(2 * t))},
          values);
  }
}

constexpr double kRounding = 1e-12;

void one_constant_for_all_scores(Check& check) {
  std::int64_t violations = 0;
  random_trials(check, check.effort(40, 1000), [&](const Trial& trial, const Table& values) {
    if (norm_of(trial.output) > largest_value(values) * size_in(Budget::infinity, trial.change) + kRounding)
      ++violations;
  });
  check.never("changes above max|v| |eps|_inf", violations);
  // L depends on v and s: doubling the values doubles the change, and spreading the scores shrinks it.
  const std::vector<double> s = {0, 0}, moved = {0.01, -0.01}, far = {10, 0}, far_moved = {10.01, -0.01};
  const Table v{{1}, {-1}}, twice{{2}, {-2}};
  const auto change = [](const std::vector<double>& a, const std::vector<double>& b, const Table& values) {
    return std::abs(output_of(b, values)[0] - output_of(a, values)[0]);
  };
  check.near("change with 2 v / change with v", change(s, moved, twice) / change(s, moved, v), 2, 1e-12);
  check.at_most("change at scores (10, 0) / change at (0, 0)", change(far, far_moved, v) / change(s, moved, v), 1e-3);
}

void triangle_chain(Check& check) {
  std::int64_t first = 0, second = 0;
  random_trials(check, check.effort(40, 1000), [&](const Trial& trial, const Table& values) {
    double chain = 0;
    for (std::size_t i = 0; i < values.rows; ++i) chain += std::abs(trial.weights[i]) * norm_of(values.row(i));
    if (norm_of(trial.output) > chain + kRounding) ++first;
    if (chain > largest_value(values) * size_in(Budget::absolute, trial.weights) + kRounding) ++second;
  });
  check.never("|o' - o| above sum |a' - a| |v|", first);
  check.never("sum |a' - a| |v| above max|v| |a' - a|_1", second);
}

// |softmax(-e/2, e/2) - softmax(e/2, -e/2)|_1 / e, from the kernel.
double swap_ratio(double e) {
  const std::vector<double> up = weights_of(std::vector<double>{e / 2, -e / 2});
  const std::vector<double> down = weights_of(std::vector<double>{-e / 2, e / 2});
  return size_in(Budget::absolute, minus(up, down)) / e;
}

// The maximum of |J sigma|_1 over all sign patterns, with J sigma by central differences of the kernel.
double searched_infinity_norm(const std::vector<double>& weights) {
  const std::size_t n = weights.size(), patterns = std::size_t{1} << n;
  const double h = 1e-4;
  Table scores(2 * patterns, n);
  for (std::size_t p = 0; p < patterns; ++p)
    for (std::size_t i = 0; i < n; ++i) {
      const double step = (p >> i & 1u) != 0 ? h : -h;
      scores(2 * p, i) = std::log(weights[i]) + step;
      scores(2 * p + 1, i) = std::log(weights[i]) - step;
    }
  const Table moved = outputs_of(scores, identity(n));
  double greatest = 0;
  for (std::size_t p = 0; p < patterns; ++p)
    greatest = std::max(greatest, size_in(Budget::absolute, minus(moved.row(2 * p), moved.row(2 * p + 1))) / (2 * h));
  return greatest;
}

void softmax_constant(Check& check) {
  for (const double e : {1.0, 0.1, 0.01, 1e-3})
    check.near("change of two weights that swap / eps, eps = " + short_text(e), swap_ratio(e),
               weights_change_bound(2 * e) / e, 1e-10);
  check.near("the same at eps = 1, quoted", swap_ratio(1), 0.9242, 5e-5);
  check.near("the same at eps = 0.1, quoted", swap_ratio(0.1), 0.99917, 5e-6);
  check.near("the same at eps = 0.01, quoted", swap_ratio(0.01), 0.9999917, 5e-8);
  std::int64_t above_tanh = 0, above_one = 0, above_half = 0;
  double greatest = 0;
  random_trials(check, check.effort(200, 2000), [&](const Trial& trial, const Table&) {
    const double change = size_in(Budget::absolute, trial.weights), size = size_in(Budget::infinity, trial.change);
    if (change > weights_change_bound(range_of(trial.change)) + kRounding) ++above_tanh;
    if (change > size + kRounding) ++above_one;
    if (norm_of(trial.weights) > kSoftmaxEuclideanConstant * norm_of(trial.change) + kRounding) ++above_half;
    greatest = std::max(greatest, change / size);
  });
  check.never("l1 changes above 2 tanh(range / 4)", above_tanh);
  check.never("l1 changes above |eps|_inf", above_one);
  check.never("l2 changes above |eps|_2 / 2", above_half);
  // Quoted: 0.99992 in 200 000 trials.
  check.between("greatest l1 change / |eps|_inf met", greatest, 0.99, 1);
  // Quoted: 0.4999998 over 50 000 random weights; two keys that share the mass reach 1/2.
  double euclidean = 0;
  for (std::int64_t t = 0; t < check.effort(5000, 50'000); ++t) {
    const auto n = static_cast<std::size_t>(check.random().integer(2, 9));
    euclidean = std::max(euclidean, softmax_euclidean_norm(weights_of(check.random().normals(n, 3))));
  }
  check.between("greatest l2 norm at random weights", euclidean, 0.499, 0.5);
  for (const std::vector<double>& a : {std::vector<double>{0.5, 0.5},
                                       {0.9, 0.1},
                                       {0.7, 0.2, 0.1},
                                       {0.5, 0.3, 0.2},
                                       std::vector<double>(3, 1.0 / 3),
                                       std::vector<double>(8, 1.0 / 8)})
    check.near("inf to 1 norm at " + std::to_string(a.size()) + " weights, the first " + short_text(a[0]),
               searched_infinity_norm(a), softmax_infinity_norm(a), 1e-7);
}

void output_constant(Check& check) {
  std::int64_t above_printed = 0, above_sharp = 0, worse = 0;
  random_trials(check, check.effort(1000, 5000), [&](const Trial& trial, const Table& values) {
    const double change = norm_of(trial.output);
    if (change > largest_value(values) * size_in(Budget::infinity, trial.change) + kRounding) ++above_printed;
    const double sharp = output_change_bound(diameter(values), range_of(trial.change));
    if (change > sharp + kRounding) ++above_sharp;
    if (sharp > largest_value(values) * size_in(Budget::infinity, trial.change) + kRounding) ++worse;
  });
  check.never("changes above max|v| |eps|_inf", above_printed);
  check.never("changes above diam(V) tanh(range / 4)", above_sharp);
  check.never("diam(V) tanh(range / 4) above max|v| |eps|_inf", worse);
  const Table v{{1}, {-1}};
  for (const double e : {2.0, 0.1, 1e-3}) {
    const double change =
        output_of(std::vector<double>{e / 2, -e / 2}, v)[0] - output_of(std::vector<double>{-e / 2, e / 2}, v)[0];
    check.near("change / (diam tanh(eps / 2)) for v = +-1, eps = " + short_text(e),
               change / output_change_bound(2, 2 * e), 1, 1e-10);
    if (e < 0.01) check.near("change / (max|v| eps) for v = +-1, eps = 0.001", change / e, 1, 1e-6);
  }
}

}  // namespace

std::vector<Claim> lipschitz_claims() {
  using enum Verdict;
  return {
      computed("001-19,20", holds, "The output is Lipschitz in the scores, with a constant that depends on s and v",
               "a constant that holds for all s exists: max|v| against |eps|_inf", one_constant_for_all_scores),
      computed("001-21", holds, "|o' - o| <= sum_i |a'_i - a_i| |v_i| <= max|v| |a' - a|_1", "", triangle_chain),
      computed("001-22", holds, "|softmax(s + eps) - softmax(s)|_1 <= |eps|_inf",
               "1 is sharp. Stronger: 2 tanh(range(eps)/4). At given weights the constant is max over sets of keys of "
               "4 P (1 - P); in l2 it is 1/2",
               softmax_constant),
      computed("001-23", holds, "|o' - o| <= max|v| |eps|_inf", "sharp for v = +-1. Better: diam(V) tanh(range(eps)/4)",
               output_constant),
  };
}

}  // namespace isentropic::ledger::robustness
