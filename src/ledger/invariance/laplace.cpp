// Section 10: Laplace's method and the partition function.
#include "isentropic/theory/laplace.hpp"

#include <fmt/format.h>

#include <numbers>

#include "isentropic/theory/random_energy.hpp"
#include "isentropic/theory/random_scores.hpp"
#include "ledger/invariance/drawn.hpp"
#include "ledger/invariance/subjects.hpp"

namespace isentropic::ledger::invariance {
namespace {

// The trapezoidal rule, for functions that vanish at both ends.
template <class Function>
double integral(double low, double high, int steps, const Function& f) {
  const double step = (high - low) / steps;
  double sum = (f(low) + f(high)) / 2;
  for (int i = 1; i < steps; ++i) sum += f(low + i * step);
  return sum * step;
}

void laplace_method(Check& check) {
  for (const auto& [n, quoted] : {std::pair{1.0, 0.772}, {10.0, 0.945}, {100.0, 0.993}, {1000.0, 0.9993}}) {
    const double truth =
        integral(-6, 6, 20000, [n = n](double x) { return std::exp(n * (-x * x / 2 - x * x * x * x / 4)); });
    check.near(fmt::format("integral over Laplace's value, n = {}", n),
               truth / std::exp(laplace_log_integral(n, 0, -1)), quoted, 6e-4);
  }
}

void annealed_partition(Check& check) {
  const std::size_t n = static_cast<std::size_t>(check.effort(4096, 16384));
  const double log_n = std::log(static_cast<double>(n)), freezing = freezing_spread(log_n);
  const std::int64_t rows = check.effort(30, 600);
  const double lambda = check.choose(1.5, 2 * freezing);
  check.near("log Z - log n against log E e^{lambda s}", gaussian_rows(check, n, lambda, rows).log_mean_exp.estimate(),
             lambda * lambda / 2, 0.02);
  for (const double scale : {2.0, freezing, 2 * freezing})
    check.near(fmt::format("log Z - log n at lambda = {:.3f}", scale),
               gaussian_rows(check, n, scale, rows).log_mean_exp.estimate(),
               expected_row(ScoreLaw::gaussian(), log_n, scale).log_partition - log_n, 1e-3);
  const double far = std::log(16384.0), critical = freezing_spread(far);
  struct Quoted {
    double lambda, gap, annealed, rounding;
  };
  for (const Quoted& x : {Quoted{2, 1.994, 2, 5e-4}, {critical, 8.99, 9.70, 0.005}, {2 * critical, 25.8, 38.8, 0.05}}) {
    compare_with_draws(check, fmt::format("log Z - log n at lambda = {:.3f}, n = 16384", x.lambda), x.gap, 915,
                       x.rounding, gaussian_rows(check, 16384, x.lambda, check.effort(24, 400)).log_mean_exp,
                       expected_row(ScoreLaw::gaussian(), far, x.lambda).log_partition - far);
    check.near(fmt::format("log E e^{{lambda s}} at lambda = {:.3f}", x.lambda), x.lambda * x.lambda / 2, x.annealed,
               std::max(x.rounding, 0.005));
  }
}

double gaussian_log_density(double s, double sigma) {
  return -s * s / (2 * sigma * sigma) - std::log(2 * std::numbers::pi * sigma * sigma) / 2;
}

void laplace_of_a_gaussian(Check& check) {
  struct Case {
    double lambda, sigma, exact, printed;
  };
  for (const auto& [lambda, sigma, exact, as_printed] : {Case{1, 1, 0.5, 0.081}, {2, 1, 2, 3.43}, {1, 2, 2, 3.08}}) {
    const double truth = std::log(integral(-40, 60, 4000, [lambda = lambda, sigma = sigma](double s) {
      return std::exp(lambda * s + gaussian_log_density(s, sigma));
    }));
    const double s = lambda * sigma * sigma;
    const double sound = laplace_log_mean_exp(lambda, s, gaussian_log_density(s, sigma), -1 / (sigma * sigma));
    const double printed = lambda * s - std::log(2 * std::numbers::pi) / 2 + std::log(lambda) / 2;
    check.near(fmt::format("log E e^{{lambda s}}, lambda = {}, sigma = {}", lambda, sigma), truth,
               check.choose(sound, printed), 1e-9);
    check.near("its known value", truth, exact, 1e-9);
    check.near("the printed form's", printed, as_printed, 0.005);
  }
}

void uniform_density(Check& check) {
  for (const double lambda : {20.0, 100.0}) {
    const int steps = 200000;
    // Midpoint rule: the integrand does not vanish at the edge.
    double sum = 0;
    for (int i = 0; i < steps; ++i) sum += std::exp(lambda * ((i + 0.5) / steps - 1)) / steps;
    check.near(fmt::format("log E e^{{lambda s}} on [0, 1], lambda = {}", lambda), lambda + std::log(sum),
               uniform_log_mean_exp_edge(lambda, 1, 1), 1e-6);
  }
  double wide = 0;
  for (int i = 0; i < 20000; ++i) wide += std::exp(20 * 2.5 * ((i + 0.5) / 20000 - 1)) / 20000;
  check.near("log E e^{lambda s} on [-1.5, 1], lambda = 20", 20 + std::log(wide), uniform_log_mean_exp_edge(20, 1, 2.5),
             1e-6);
  check.near("at lambda = 20", uniform_log_mean_exp_edge(20, 1, 1), 17.0043, 5e-5);
  check.near("the form for an interior maximum there", 20 - std::log(2 * std::numbers::pi) / 2 + std::log(20.0) / 2,
             20.58, 0.005);
}

void log_partition_of_uniform_scores(Check& check) {
  const std::size_t n = 10000;
  const double lambda = 100, log_n = std::log(n);
  const RowMeans rows = drawn_rows(n, lambda, check.effort(30, 500), [&] { return check.random().uniform(); });
  check.at_most("log Z - log n, the bound lambda s_max", rows.log_mean_exp.mean(), lambda * rows.maximum.mean());
  check.near("log Z - log n, uniform scores, lambda = 100", rows.log_mean_exp.estimate(),
             check.choose(uniform_log_mean_exp_edge(lambda, 1, 1), lambda), 0.02);
  check.near("its expectation", expected_row(ScoreLaw::uniform(), log_n, lambda).log_partition - log_n, 95.39, 0.02);
}

void entropy_of_uniform_scores(Check& check) {
  const std::size_t n = 10000;
  const double log_n = std::log(n);
  for (const double lambda : {20.0, 100.0})
    check.near(
        fmt::format("H of uniform scores, lambda = {}", lambda),
        drawn_rows(n, lambda, check.effort(20, 300), [&] { return check.random().uniform(); }).entropy.estimate(),
        check.choose(uniform_scores_entropy(log_n, lambda, 1), log_n), 0.01);
  check.near("log n + 1 - log(lambda w) at lambda = 20", uniform_scores_entropy(log_n, 20, 1), 7.2146, 5e-5);
  compare_with_draws(check, "H at lambda = 20", 7.2155, 100, 5e-5,
                     drawn_rows(n, 20, 24, [&] { return check.random().uniform(); }).entropy,
                     expected_row(ScoreLaw::uniform(), log_n, 20).entropy);
}

}  // namespace

std::vector<Claim> laplace_claims() {
  using enum Verdict;
  return {
      computed("003-26", holds, "Laplace: int e^{n f} is about e^{n f*} sqrt(2 pi/(n |f''|))",
               "interior maximum with f'' < 0; the ratio tends to 1", laplace_method),
      computed("003-27,28,29", holds_if, "Z is about n times the mean of e^{lambda s} under the law of one score",
               "if lambda sigma < sqrt(2 log n); in the frozen phase Z is far smaller than its mean",
               annealed_partition),
      computed("003-30", corrected, "log E e^{lambda s} is about lambda s* - log(2 pi)/2 + log(lambda)/2",
               "lambda s* + log p(s*) + log(2 pi/|(log p)''(s*)|)/2; exactly lambda^2 sigma^2/2 for Gaussian scores",
               laplace_of_a_gaussian),
      computed("003-30b", holds, "For a uniform density the maximum s* is the largest score",
               "an edge: log E e^{lambda s} = lambda s_max - log(lambda w)", uniform_density),
      computed("003-31", corrected, "log Z is about log n + lambda s_max",
               "that is the upper bound; less by log(lambda w) for uniform scores", log_partition_of_uniform_scores),
      computed("003-32", corrected, "With log Z about log n + lambda s_max, H is about log n",
               "uniform scores: log n + 1 - log(lambda w)", entropy_of_uniform_scores),
  };
}

}  // namespace isentropic::ledger::invariance
