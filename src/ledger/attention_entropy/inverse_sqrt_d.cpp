// Section 14: why scores are divided by sqrt d.
#include <cmath>
#include <numbers>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/theory/dot_products.hpp"
#include "isentropic/theory/random_scores.hpp"
#include "ledger/attention_entropy/subjects.hpp"

namespace isentropic::ledger::attention_entropy {
namespace {

enum class Law { normal, uniform };

double coordinate(Law law, double sigma, Random* random) {
  return law == Law::normal ? sigma * random->normal() : random->uniform(-1, 1) * sigma * std::sqrt(3.0);
}

// lambda q.k for pairs of rows, from the kernel: one head per pair, with one key.
std::vector<double> products(const std::vector<double>& q, const std::vector<double>& k, std::int64_t d,
                             const Scale& scale) {
  const auto pairs = static_cast<std::int64_t>(q.size()) / d;
  const AttentionProblem problem{.query = View(q.data(), {1, pairs, 1, d}),
                                 .key = View(k.data(), {1, pairs, 1, d}),
                                 .scale = scale,
                                 .statistics = Statistics::of({Statistic::max_score}),
                                 .executor = &serial_executor()};
  return attention_statistics(problem).statistics.max_score.to_doubles();
}

Estimate mean_square(const std::vector<double>& x, double unit) {
  Mean out;
  for (double y : x) out.add(y * y / unit);
  return out.estimate();
}

// Coordinates of mean 1 and deviation 1: E s = d and Var s = 3 d, so E[s^2] = d (3 + d).
void mean_that_is_not_zero(Check& check) {
  const std::int64_t d = 64;
  std::vector<double> q = check.random().normals(static_cast<std::size_t>(check.effort(2000, 20'000) * d)), k = q;
  for (double& x : q) x += 1;
  for (double& x : k) x = 1 + check.random().normal();
  check.near("coordinates N(1, 1): E[s^2] / d, d = 64", mean_square(products(q, k, d, Scale::constant(1)), 64), 67);
}

void variance_of_scores(Check& check) {
  const std::int64_t pairs = check.effort(12000, 40000);
  const double sigma = 1.5;
  for (const std::int64_t d : {16, 64, 256})
    for (const Law law : {Law::normal, Law::uniform}) {
      const auto size = static_cast<std::size_t>(pairs * d);
      std::vector<double> q(size), k(size);
      for (double& x : q) x = coordinate(law, sigma, &check.random());
      for (std::size_t i = 0; i < size; ++i) {
        const double other = coordinate(law, sigma, &check.random());
        k[i] = check.choose(other, 0.6 * q[i] + 0.8 * other);  // the same variance, correlation 0.6
      }
      const std::string where = (law == Law::normal ? ", normal, d = " : ", uniform, d = ") + std::to_string(d);
      check.near("E[s^2] / (d sigma^4)" + where,
                 mean_square(products(q, k, d, Scale::constant(1)), variance_of_dot_product(d, sigma)), 1);
      check.near("E[s^2] / sigma^4 after 1/sqrt d" + where,
                 mean_square(products(q, k, d, Scale::inverse_sqrt_d()), std::pow(sigma, 4)), 1);
    }
  mean_that_is_not_zero(check);
  // The effect of correlation: mean 0.6 d, variance 1.36 d.
  const std::int64_t d = 64;
  std::vector<double> q = check.random().normals(static_cast<std::size_t>(pairs * d)), k = q;
  for (double& x : k) x = 0.6 * x + 0.8 * check.random().normal();
  Mean s, squares;
  for (double x : products(q, k, d, Scale::constant(1))) {
    s.add(x);
    squares.add(std::pow(x - mean_dot_product(d, 1, 0.6), 2));
  }
  check.near("correlation 0.6: mean of s", s.estimate(), mean_dot_product(d, 1, 0.6));
  check.near("correlation 0.6: variance of s", squares.estimate(), variance_of_dot_product(d, 1, 0.6));
  const auto dimension = static_cast<double>(d);
  check.near("correlation 0.6: mean of s / d, quoted", s.mean() / dimension, 0.60,
             0.005 + 5 * s.estimate().error / dimension);
  // Quoted from 20 000 other pairs.
  check.near("correlation 0.6: variance of s / d, quoted", squares.mean() / dimension, 1.34,
             0.005 + 5 * squares.estimate().error / dimension * (1 + std::sqrt(static_cast<double>(pairs) / 20000)));
}

void overflow(Check& check) {
  std::vector<double> scores = check.random().normals(64, 1e4);
  scores[0] = 1e5;  // no near ties
  std::vector<double> direct(scores.size());
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) sum += direct[i] = std::exp(scores[i]);
  for (double& x : direct) x /= sum;
  std::int64_t broken = 0;
  for (double x : check.choose(direct, weights_of(scores))) broken += !std::isfinite(x);
  check.at_least("weights that are no numbers, scores N(0, 10^8)", static_cast<double>(broken), 1);
  const Record record = record_of(scores);
  check.near("largest weight, relative to the maximum", peak(record), 1, 1e-3);
  check.near("H: saturated, not unstable", entropy(record), 0, 1e-2);
}

// Scores q.k_j of independent standard normal vectors: given q they are N(0, |q|^2).
Table scores_of_dimension(std::size_t rows, std::size_t n, std::size_t d, Random* random) {
  Table out(rows, n, random->normals(rows * n));
  for (std::size_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (std::size_t i = 0; i < d; ++i) squares += std::pow(random->normal(), 2);
    for (double& s : out.row(r)) s *= std::sqrt(squares);
  }
  return out;
}

Estimate mean_entropy(const Table& scores, double lambda = 1) {
  Mean out;
  for (const Record& record : records_of(scores, lambda)) out.add(entropy(record));
  return out.estimate();
}

// 2^power scores of deviation sqrt d, against their exact expectation.
Estimate check_many_keys(Check& check, double d, int power, double quoted, std::size_t rows) {
  const std::size_t n = std::size_t{1} << power;
  const Estimate h = mean_entropy(Table(rows, n, check.random().normals(rows * n)), std::sqrt(d));
  const ExpectedRow exact = expected_row(ScoreLaw::gaussian(), std::log(static_cast<double>(n)), std::sqrt(d));
  const std::string where = "d = " + std::to_string(static_cast<int>(d)) + ", n = 2^" + std::to_string(power);
  check.near("H without scale, " + where, h, exact.entropy);
  // Quoted from 30 other rows.
  check.near("H without scale, quoted, " + where, h, quoted,
             0.005 + 5 * h.error * std::sqrt(static_cast<double>(rows) / 30));
  return h;
}

void unscaled_scores(Check& check) {
  const auto rows = static_cast<std::size_t>(check.effort(1500, 6000));
  const std::vector<std::size_t> dimensions = {16, 64, 256, 1024, 4096};
  const std::vector<double> known = {1.94, 0.737, 0.354, 0.183, 0.072};
  report::PlotCurve unscaled{.label = "no scale", .x = {}, .y = {}}, scaled{.label = "1/sqrt d", .x = {}, .y = {}};
  double last = 0;
  for (std::size_t t = 0; t < dimensions.size(); ++t) {
    const auto d = static_cast<double>(dimensions[t]);
    const Table scores = scores_of_dimension(rows, 256, dimensions[t], &check.random());
    const Estimate h = mean_entropy(scores), flat = mean_entropy(scores, 1 / std::sqrt(d));
    const std::string where = ", d = " + std::to_string(dimensions[t]);
    // The known values come from 200 rows each, so they have errors of their own.
    check.near("H without scale, n = 256" + where, h, known[t],
               5 * h.error * (std::sqrt(1 + static_cast<double>(rows) / 200) - 1));
    check.near("H with 1/sqrt d, n = 256" + where, flat, 5.05, 0.03);
    // |q| varies little around sqrt d, and 1 / |q| is 3 / (4 d) larger on average.
    const double exact = expected_row(ScoreLaw::gaussian(), std::log(256.0), std::sqrt(d)).entropy;
    if (d >= 256) check.near("H without scale against |q| = sqrt d" + where, h, exact, exact / d);
    last = h.mean;
    unscaled.x.push_back(d), unscaled.y.push_back(h.mean);
    scaled.x.push_back(d), scaled.y.push_back(flat.mean);
  }
  // Along log n = d/2 + 2.4 the tilted scores N(d, d) are cut off in their middle, at the largest score: H = sqrt(2 d /
  // pi) + O(1).
  for (const double d : {16.0, 64.0, 256.0, 1024.0})
    check.near(
        "exact H at log n = d/2 + 2.4 less sqrt(2 d / pi), d = " + std::to_string(static_cast<int>(d)),
        expected_row(ScoreLaw::gaussian(), d / 2 + 2.4, std::sqrt(d)).entropy - std::sqrt(2 * d / std::numbers::pi),
        0.75, 0.2);
  const Estimate many = check_many_keys(check, 16, 15, 4.44, static_cast<std::size_t>(check.effort(150, 400)));
  if (check.thorough()) check_many_keys(check, 20, 18, 4.46, 60);
  check.at_most("H without scale, the larger dimension", check.choose(last, many.mean), 0.2);
  check.plot({.title = "Entropy of 256 random keys",
              .x_label = "dimension d",
              .y_label = "H (nats)",
              .x_scale = report::PlotScale::log,
              .curves = {unscaled, scaled}});
}

}  // namespace

std::vector<Claim> inverse_sqrt_d_claims() {
  return {
      computed("001-63..66", Verdict::holds_if, "Random scores q.k have variance d sigma^4, after 1/sqrt d sigma^4",
               "for q and k independent of each other, of mean 0; correlation rho adds a mean d rho sigma^2 and a "
               "factor 1 + rho^2",
               variance_of_scores),
      computed("001-s14", Verdict::holds_if, "Scores of large variance make e^s numerically unstable",
               "where the maximum is not subtracted; where it is, they saturate the weights", overflow),
      computed("001-67", Verdict::holds_if, "Without a scale the weights become one-hot and H -> 0 as d grows",
               "at fixed n: d much above 2 log n; with log n = d/2 + c the entropy grows, like sqrt(2 d / pi)",
               unscaled_scores),
  };
}

}  // namespace isentropic::ledger::attention_entropy
