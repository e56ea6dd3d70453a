// Sections 28 to 30: the listing, default weights, and the source's own summary.
#include <fmt/format.h>

#include <limits>

#include "isentropic/theory/random_scores.hpp"
#include "isentropic/theory/scale_laws.hpp"
#include "ledger/invariance/drawn.hpp"
#include "ledger/invariance/subjects.hpp"

namespace isentropic::ledger::invariance {
namespace {

void causal_rows(Check& check) {
  const Table x = normal_table(check.random(), 100, 16);
  const AttentionResult result =
      attend(x, x, x, {.query = {}, .key = {}, .mask = Mask::causal(), .scale = Scale::log_n(3.0)});
  double lambda = 0, above = 0;
  for (std::size_t i = 0; i < x.rows; ++i) {
    const double log_i = std::log(static_cast<double>(i + 1));
    lambda = std::max(lambda, std::abs(result.scales.lambda[i] - 3 * log_i / 16));
    above = std::max(above, entropy(result.records[i]) - log_i);
  }
  check.near("lambda of row i less kappa log i/d", lambda, 0, 1e-14);
  check.at_most("H less log i", above, 0, 1e-12);
}

double largest(const std::vector<double>& x) {
  double most = 0;
  for (const double v : x) most = std::max(most, std::abs(v));
  return most;
}

void listing(Check& check) {
  const std::int64_t batch = check.effort(2, 32), heads = 8, n = 100, d = 64;
  std::vector<float> x;
  for (const double v : check.random().normals(static_cast<std::size_t>(batch * heads * n * d)))
    x.push_back(static_cast<float>(v));
  const View tokens(x.data(), {batch, heads, n, d}, {n * heads * d, d, heads * d, 1});  // [batch, n, heads d]
  AttentionProblem problem{
      .query = tokens, .key = tokens, .value = tokens, .scale = Scale::log_n(), .executor = &serial_executor()};
  const AttentionResult self = attention(problem);
  check.near("numbers of output", static_cast<double>(self.output.size()), static_cast<double>(batch * n * heads * d),
             0);
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < n; ++i) rows.push_back(i);
  const Tensor weights = attention_weights(problem, rows);
  check.near("numbers of weights", static_cast<double>(weights.size()), static_cast<double>(batch * heads * n * n), 0);
  const Table as_rows(static_cast<std::size_t>(batch * heads * n), static_cast<std::size_t>(n), weights.to_doubles());
  double sum_error = 0;
  for (std::size_t i = 0; i < as_rows.rows; ++i) {
    double sum = 0;
    for (const double w : as_rows.row(i)) sum += w;
    sum_error = std::max(sum_error, std::abs(sum - 1));
  }
  check.near("largest row sum less 1", sum_error, 0, 1e-5);
  // What the printed listing cannot do.
  problem.query = tokens.slice(2, 0, 5), problem.key = tokens.slice(2, 0, 9), problem.value = problem.key;
  const AttentionResult cross = attention(problem);
  check.near("queries of cross attention (5, 9)", static_cast<double>(cross.output.shape()[2]), 5, 0);
  check.near("its lambda", cross.scales.lambda.front(), std::log(9.0) / 64, 1e-12);
}

void fully_masked(Check& check, const char* name, const View& x) {
  std::vector<char> visible(16 * 16, 1);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) visible[static_cast<std::size_t>(16 * i + j)] = j <= i && i != 3;
  const View mask(visible.data(), DType::boolean, {1, 1, 16, 16}, {256, 256, 16, 1});
  const AttentionResult masked = attention({.query = x,
                                            .key = x,
                                            .value = x,
                                            .mask = Mask::none().dense(mask),
                                            .scale = Scale::log_n(),
                                            .statistics = Statistics::of({Statistic::entropy}),
                                            .executor = &serial_executor()});
  const std::vector<double> output = masked.output.to_doubles();
  check.near(fmt::format("output of a fully masked row, {}", name),
             largest({output.begin() + 3 * 8, output.begin() + 4 * 8}), 0, 0);
  check.near(fmt::format("its visible keys, {}", name), static_cast<double>(masked.records[3].k), 0, 0);
  double lambda = 0;
  for (std::size_t i = 0; i < 16; ++i)
    if (i != 3) lambda = std::max(lambda, std::abs(masked.scales.lambda[i] - std::log(static_cast<double>(i + 1)) / 8));
  check.near(fmt::format("lambda of causal rows less log i/d, {}", name), lambda, 0, 1e-14);
  std::int64_t bad = 0;
  for (const double v : output) bad += !std::isfinite(v);
  check.never(fmt::format("numbers that are not finite, {}", name), bad);
}

void listing_and_beyond(Check& check) {
  listing(check);
  const std::vector<double> x = check.random().normals(16 * 8);
  fully_masked(check, "float64", View(x.data(), {1, 1, 16, 8}));
  std::vector<float16> half;
  for (const double v : x) half.push_back(to_float16(static_cast<float>(v)));
  fully_masked(check, "float16", View(half.data(), {1, 1, 16, 8}));
  // The printed code fills masked scores with -1e9: a row of nothing else attends to all of them alike, and half
  // precision has no such number.
  check.near("weight of each of 16 masked keys under scores of -1e9", weights_of(std::vector<double>(16, -1e9)).front(),
             1.0 / 16, 1e-6);
  check.at_most("-1e9 in half precision", to_float(to_float16(-1e9f)), -std::numeric_limits<double>::infinity());
}

// One head of a module of width 512 and 8 heads: weights and offsets uniform in +-1/sqrt 512.
void default_weights(Check& check) {
  const std::size_t width = 512, d = 64;
  const double reach = 1 / std::sqrt(512.0);
  const auto layer = [&] {
    Table out(width + 1, d);
    for (double& w : out.values) w = check.random().uniform(-reach, reach);
    return out;
  };
  const auto applied = [&](const Table& x, const Table& weights) {
    Table out(x.rows, d);
    for (std::size_t i = 0; i < x.rows; ++i)
      for (std::size_t t = 0; t <= width; ++t) {
        const double value = t < width ? x(i, t) : 1;
        for (std::size_t c = 0; c < d; ++c) out(i, c) += value * weights(t, c);
      }
    return out;
  };
  const std::vector<std::pair<std::size_t, double>> quoted = {{16, 2.766}, {64, 4.144}, {256, 5.519}, {1024, 6.890}};
  for (const auto& [n, h] : quoted) {
    if (n > 256 && !check.thorough()) continue;
    const Table x = normal_table(check.random(), n, width);
    Mean entropies;
    for (const Record& r : attend(applied(x, layer()), applied(x, layer()), Table(n, 1, 0.0),
                                  {.query = {}, .key = {}, .scale = Scale::log_n()})
                               .records)
      entropies.add(entropy(r));
    check.near(fmt::format("H at default weights, n = {}", n), entropies.mean(), h, 0.01);
    // A projected coordinate has variance 1/3, a score 64/9 and a logit (log n/64)^2 64/9.
    const double log_n = std::log(static_cast<double>(n));
    check.near(fmt::format("log n less half the variance of the logits, n = {}", n),
               log_n - log_n * log_n / (2 * 64 * 9), h, 0.003);
  }
}

void division_by_d(Check& check) {
  const std::size_t d = 64;
  const double root = check.choose(0.5, 1.0), sigma = 1.2;
  Mean s, by_d;
  for (std::int64_t t = 0; t < check.effort(6000, 100000); ++t) {
    double sum = 0;
    for (std::size_t i = 0; i < d; ++i) sum += sigma * check.random().normal() * sigma * check.random().normal();
    s.add(sum / std::pow(static_cast<double>(d), root)), by_d.add(sum / static_cast<double>(d));
  }
  check.relative("variance of the divided score against that at d = 1, sigma^4", s.variance(), std::pow(sigma, 4),
                 check.effort(15, 4) / 100.0);
  check.relative("variance of the score over d against sigma^4/d", by_d.variance(),
                 std::pow(sigma, 4) / static_cast<double>(d), check.effort(15, 4) / 100.0);
}

void one_length(Check& check) {
  const std::size_t n = 77, d = 16;
  const Table q = normal_table(check.random(), 9, d), k = normal_table(check.random(), n, d),
              v = normal_table(check.random(), n, 4);
  const double kappa = std::sqrt(static_cast<double>(d)) / std::log(static_cast<double>(n));
  const AttentionResult usual = attend(q, k, v),
                        law = attend(q, k, v, {.query = {}, .key = {}, .scale = Scale::log_n(kappa)});
  check.near("output under kappa log n/d less that under 1/sqrt d",
             difference(law.output.to_doubles(), usual.output.to_doubles()), 0, 1e-14);
}

void matching_key(Check& check) {
  const std::int64_t d = 64;
  const std::vector<std::int64_t> lengths =
      check.thorough() ? std::vector<std::int64_t>{64, 1024, 16384, 131072} : std::vector<std::int64_t>{64, 1024, 4096};
  const std::vector<Scale> laws = {Scale::log_n(check.choose(1.5, 1.0)), Scale::log_n(1.5), Scale::log_n(1.0),
                                   Scale::inverse_sqrt_d(), Scale::log_n_sqrt_d(1 / std::log(512.0))};
  const std::vector<std::string> names = {"judged", "1.5 log n/d", "log n/d", "1/sqrt d", "log_512(n)/sqrt d"};
  const std::vector<Curve> curves = draw_curves(check, laws, lengths, d, check.effort(64, 320));
  check.at_least("weight of the match at the longest context less that at n = 64",
                 curves[0].needle(lengths.size() - 1).mean - curves[0].needle(0).mean, 0);
  report::Plot plot{
      "A match of cosine 1 among random keys, d = 64", "n", "weight of the match", report::PlotScale::log, {}, {}};
  for (std::size_t i = 1; i < laws.size(); ++i) {
    report::PlotCurve curve{names[i], curves[i].x(), {}};
    for (std::size_t t = 0; t < lengths.size(); ++t) {
      const double lambda = law_lambda(laws[i], lengths[t], d);
      const double exact =
          expected_row(ScoreLaw::cosine(64), std::log(static_cast<double>(lengths[t] - 1)), lambda, 64.0).planted;
      check.near(fmt::format("weight of the match under {}, n = {}", names[i], lengths[t]), curves[i].needle(t), exact,
                 1e-3);
      curve.y.push_back(curves[i].needle(t).mean);
    }
    plot.curves.push_back(curve);
  }
  check.plot(plot);
  struct Quoted {
    std::size_t law;
    std::int64_t n;
    double weight;
  };
  for (const Quoted& x : {Quoted{3, 64, 0.967},
                          {3, 1024, 0.64},
                          {3, 131072, 0.014},
                          {2, 64, 0.469},
                          {2, 131072, 0.255},
                          {1, 64, 0.857},
                          {1, 131072, 0.971},
                          {4, 64, 0.725},
                          {4, 131072, 0.830}}) {
    const double log_others = std::log(static_cast<double>(x.n - 1)), lambda = law_lambda(laws[x.law], x.n, d);
    check.near(fmt::format("expected weight under {}, n = {}, quoted", names[x.law], x.n),
               expected_row(ScoreLaw::cosine(64), log_others, lambda, 64.0).planted, x.weight, 0.005);
    if (x.law == 2)
      check.near(fmt::format("1/(1 + exp((log n)^2/2d)), n = {}", x.n),
                 needle_probability(std::log(static_cast<double>(x.n)), 64, lambda), x.weight, 0.01);
  }
}

}  // namespace

std::vector<Claim> summary_claims() {
  using enum Verdict;
  return {
      computed("003-s28", note, "Causal attention, left open: which n?", "answered by (51): row i uses log i",
               causal_rows),
      computed("003-s29", holds,
               "Code printed with the source: output shaped as the input, weights [batch, heads, n, n]",
               "for self-attention; the printed code fails for n_q != n_k, gives causal rows one scale, lets fully "
               "masked rows attend everywhere and overflows in half precision; here each of these works",
               listing_and_beyond),
      computed("003-s29b", note, "The listing's module at its default weights",
               "attends almost uniformly at every n: H = log n - (log n)^2/(2 d 9)", default_weights),
      computed("003-s30", corrected, "Division by d keeps the variance of the scores stable",
               "division by sqrt d does; by d it falls as sigma^4/d", division_by_d),
      computed("003-s30b", holds, "At one fixed length 1/sqrt d suffices", "there the laws differ by a constant",
               one_length),
      computed("003-s30c", holds_if, "The factor log n helps on very long contexts",
               "if a matching key exists and kappa > 1: its weight then rises with n; at kappa = 1 it falls",
               matching_key),
  };
}

}  // namespace isentropic::ledger::invariance
