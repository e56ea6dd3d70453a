// The output as a ratio of averages, and the law of large numbers that removes noise from it.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "experiments/noise/deviation.hpp"
#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "ledger/robustness/subjects.hpp"

namespace isentropic::ledger::robustness {

using namespace experiments::noise;
namespace {

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

// mean_i(f_i v_i) / mean_i(f_i), times `factor`.
std::vector<double> ratio_of_means(const std::vector<double>& f, const Table& v, double factor = 1) {
  double mean = 0;
  for (double x : f) mean += x / static_cast<double>(f.size());
  std::vector<double> out(v.columns, 0);
  for (std::size_t i = 0; i < v.rows; ++i)
    for (std::size_t d = 0; d < v.columns; ++d)
      out[d] += factor * f[i] * v(i, d) / (static_cast<double>(f.size()) * mean);
  return out;
}

std::vector<double> exponentials(std::vector<double> s) {
  for (double& x : s) x = std::exp(x);
  return s;
}

void output_formula(Check& check) {
  const std::size_t n = 16, d = 8;
  const Table q(4, d, check.random().normals(4 * d)), k(n, d, check.random().normals(n * d)),
      v(n, 3, check.random().normals(3 * n));
  AttentionProblem plain_products;
  plain_products.scale = Scale::constant(1);
  const Table output = table_of(attend(q, k, v, plain_products).output);
  double worst = 0;
  for (std::size_t r = 0; r < q.rows; ++r) {
    std::vector<double> s(n, 0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t c = 0; c < d; ++c) s[i] += q(r, c) * k(i, c);
    worst = std::max(
        worst, largest_difference({output.row(r).begin(), output.row(r).end()}, ratio_of_means(exponentials(s), v)));
  }
  check.near("greatest difference, 4 queries, 16 keys, d = 8", worst, 0, 1e-12);
}

void no_factor_n(Check& check) {
  for (const std::size_t n : {4, 16, 64}) {
    const std::vector<double> s = check.random().normals(n);
    const Table v(n, 3, check.random().normals(3 * n));
    const std::vector<double> ratio = ratio_of_means(exponentials(s), v, check.choose(1.0, static_cast<double>(n)));
    const std::vector<double> output = output_of(s, v);
    check.near("greatest difference at n = " + std::to_string(n), largest_difference(output, ratio), 0, 1e-12);
    const double printed = ratio_of_means(exponentials(s), v, static_cast<double>(n)).front();
    check.near("printed form / output at n = " + std::to_string(n), printed / output.front(), static_cast<double>(n),
               1e-9);
  }
}

void noisy_output(Check& check) {
  const std::size_t n = 32;
  const std::vector<double> s = check.random().normals(n), noise = check.random().normals(n, 0.7);
  const Table v(n, 3, check.random().normals(3 * n));
  std::vector<double> noisy(n), factors(n);
  for (std::size_t i = 0; i < n; ++i) {
    noisy[i] = s[i] + noise[i];
    factors[i] = std::exp(s[i]) * std::exp(noise[i]);
  }
  check.near("greatest difference, n = 32", largest_difference(output_of(noisy, v), ratio_of_means(factors, v)), 0,
             1e-12);
}

// log of mean(e^s e^eps) / (mean(e^s) E e^eps), one per draw.
std::vector<double> log_product_errors(std::size_t n, const NoiseLaw& law, std::int64_t draws, Random& random) {
  Table scores(static_cast<std::size_t>(draws) + 1, n);
  for (std::size_t i = 0; i < scores.values.size(); ++i)
    scores.values[i] = static_cast<double>(i % n % 2) + (i < n ? 0 : draw(law, random));
  const std::vector<Record> records = records_of(scores);
  std::vector<double> out;
  for (std::size_t r = 1; r < records.size(); ++r)
    out.push_back(log_partition(records[r]) - log_partition(records[0]) - std::log(law.exponential_moment()));
  return out;
}

void mean_of_products(Check& check) {
  const std::vector<std::size_t> lengths = {64, 256, 1024, 4096};
  const std::int64_t draws = check.effort(2000, 20'000);
  std::vector<Estimate> rms;
  report::PlotCurve measured{"measured", {}, {}}, formula{"sqrt(r sum a^2)", {}, {}, report::CurveStyle::formula};
  for (const std::size_t n : lengths) {
    Mean squares;
    for (double x : log_product_errors(n, NoiseLaw::gaussian(1), draws, check.random()))
      squares.add(std::pow(std::expm1(x), 2));
    const Estimate square = squares.estimate();
    rms.push_back({std::sqrt(square.mean), square.error / (2 * std::sqrt(square.mean))});
    measured.x.push_back(static_cast<double>(n)), measured.y.push_back(rms.back().mean);
    const double sharing = collision(record_of(alternating_row(n).scores));
    formula.x.push_back(static_cast<double>(n));
    formula.y.push_back(std::sqrt(NoiseLaw::gaussian(1).variance_ratio() * sharing));
    check.near("rms error at n = " + std::to_string(n), rms.back(), formula.y.back());
  }
  check.plot({.title = "Mean of e^s e^eps against the product of the means, noise N(0, 1)",
              .x_label = "n",
              .y_label = "rms relative error",
              .x_scale = report::PlotScale::log,
              .y_scale = report::PlotScale::log,
              .curves = {measured, formula}});
  check.near("power of n in the rms error, sigma = 1", power_estimate(lengths, rms), -0.5, 0.005);
  const NoiseLaw law = NoiseLaw::gaussian(check.choose(1.0, 3.0));
  Mean size;
  for (double x : log_product_errors(4096, law, draws, check.random())) size.add(std::abs(std::expm1(x)));
  check.at_most("mean relative error at n = 4096", size.mean(), 0.1);
}

// Noisy outputs of 4096 keys with s ~ N(0, 1) and v = s, for which E[e^s v] / E[e^s] = 1: their mean, and their rms
// distance from 1. Every pair (s, v) is repeated for `copies` keys.
struct LargeNumbers {
  Estimate output, distance;
};
LargeNumbers large_numbers(const Disturbance& noise, std::size_t copies, std::int64_t draws, Random& random) {
  const std::size_t n = 4096;
  Mean output, square;
  for (std::int64_t t = 0; t < draws; ++t) {
    const std::vector<double> pairs = random.normals(n / copies);
    Table v(n, 1);
    std::vector<double> s(n);
    for (std::size_t i = 0; i < n; ++i) {
      v(i, 0) = pairs[i / copies];
      s[i] = (1 + noise.lean) * v(i, 0) + draw(noise.law, random);
    }
    const double found = output_of(s, v).front();
    output.add(found), square.add(std::pow(found - 1, 2));
  }
  const double rms = std::sqrt(square.mean());
  return {output.estimate(), {rms, square.estimate().error / (2 * rms)}};
}

void large_number_limit(Check& check) {
  const NoiseLaw law = NoiseLaw::laplace(0.3);
  const std::int64_t draws = check.effort(60, 2000);
  const LargeNumbers found = large_numbers({law}, 1, 4 * draws, check.random());
  const LargeNumbers heavy = large_numbers({NoiseLaw::laplace(1.5)}, 1, draws, check.random());
  check.at_most("rms distance from the limit 1 at n = 4096", check.choose(found, heavy).distance.mean, 0.15);
  // (1 + r) E[e^{2s} (v - 1)^2] / (E e^s)^2 = 2 e (1 + r); the bias is about -2 (1 + r) e / n.
  const double expected = std::sqrt(2 * std::numbers::e * (1 + law.variance_ratio()) / 4096);
  check.near("the same against sqrt(2 e (1 + r) / n)", found.distance, expected, 0.03 * expected);
  check.near("mean output", found.output, 1, 2 * expected * expected);
  // Without the other conditions: noise v / 2 + eps moves the limit to E[e^{1.5 s} v] / E[e^{1.5 s}] = 1.5, and sixteen
  // pairs repeated for all keys average no better than sixteen.
  check.near("mean output under noise v / 2 + eps", large_numbers({law, 1, 0.5}, 1, draws, check.random()).output, 1.5,
             0.02);
  check.at_least("rms distance where 16 pairs stand for 256 keys each",
                 large_numbers({law}, 256, draws, check.random()).distance.mean, 0.25);
}

// Noise N(0, 1) on rows of 1024 keys with scores N(0, sigma^2) and values N(0, 1).
struct NoisyRows {
  Mean square, formula, difference, sharing;
};
NoisyRows noisy_rows(double sigma, std::int64_t rows, Random& random) {
  const std::size_t n = 1024;
  const NoiseLaw law = NoiseLaw::gaussian(1);
  NoisyRows out;
  for (std::int64_t t = 0; t < rows; ++t) {
    const Row row{random.normals(n, sigma), random.normals(n)};
    const double square = deviation(row, {law}, 20, random).square.mean;
    const double rms = noise_effect(weights_of(row.scores), row.value_table(), law.variance_ratio()).rms;
    out.square.add(square), out.formula.add(rms * rms), out.difference.add(square - rms * rms);
    out.sharing.add(participation(record_of(row.scores)));
  }
  return out;
}

void noise_cancels(Check& check) {
  const std::size_t n = 1024;
  const NoiseLaw law = NoiseLaw::gaussian(1);
  const std::int64_t rows = check.effort(30, 300);
  const NoisyRows spread = noisy_rows(0.5, rows, check.random()), peaked = noisy_rows(3, rows, check.random());
  check.at_most("rms change of the output, n = 1024", std::sqrt(check.choose(spread, peaked).square.mean()), 0.1);
  check.near("(o~ - o)^2 less r sum a^2 |v - o|^2, scores N(0, 1/4)", spread.difference.estimate(), 0,
             0.02 * spread.formula.mean());
  // n e^{-sigma^2} as n -> infinity.
  check.near("keys that share the weight, scores N(0, 1/4)", spread.sharing.estimate(), 1024 * std::exp(-0.25), 5);
  check.at_most("keys that share the weight, scores N(0, 9)", peaked.sharing.mean(), 40);
  const Row flat{std::vector<double>(n, 0.0), check.random().normals(n)};
  const double rms = noise_effect(weights_of(flat.scores), flat.value_table(), law.variance_ratio()).rms;
  check.near("rms change for flat weights, n = 1024",
             deviation(flat, {law}, check.effort(5000, 20'000), check.random()).rms(), rms, 0.005 * rms);
}

}  // namespace

std::vector<Claim> averaging_claims() {
  using enum Verdict;
  return {
      computed("001-1", holds, "o = sum_i e^{s_i} v_i / sum_i e^{s_i} with scores s_i = q.k_i", "", output_formula),
      computed("001-2", corrected, "The output is n times the ratio of the means of e^s v and e^s",
               "no factor n: it cancels between numerator and denominator", no_factor_n),
      computed("001-3,4,5", holds,
               "With scores s + eps the output is the ratio of the means of e^s e^eps v and e^s e^eps", "",
               noisy_output),
      computed("001-6,7", holds_if, "The mean of e^s e^eps over the keys is the product of the two means",
               "if n is far above Var(e^eps)/(E e^eps)^2; the error falls like n^-1/2", mean_of_products),
      computed("001-8", holds_if, "For n to infinity the noisy output tends to E[e^s v] / E[e^s]",
               "if the pairs (s, v) are independent draws, eps is independent of them and E e^eps is finite",
               large_number_limit),
      computed("001-9", holds_if, "Noise cancels: the noisy output equals the plain one",
               "if the weights are spread: r sum_i a_i^2 |v_i - o|^2 must be small", noise_cancels),
  };
}

}  // namespace isentropic::ledger::robustness
