// What every law lambda(n, d) does to the entropy of random keys: drawn, expected, and from independent measurements.
#include <fmt/format.h>

#include <algorithm>

#include "experiments/lengths/slope.hpp"
#include "isentropic/theory/random_energy.hpp"
#include "isentropic/theory/random_scores.hpp"
#include "isentropic/theory/scale_laws.hpp"
#include "ledger/invariance/drawn.hpp"
#include "ledger/invariance/subjects.hpp"

namespace isentropic::ledger::invariance {
namespace {

// Means over independent draws, made with numpy.
struct Elsewhere {
  std::vector<double> entropy;  // at kQuotedLengths
  double slope;                 // over n = 2^6 ... 2^17
};

struct NamedLaw {
  std::string name;
  Scale scale;
  std::vector<Elsewhere> elsewhere;  // d = 16, 64, 256
};

const std::vector<std::int64_t> kQuotedLengths = {64, 1024, 16384, 131072};

// The number of draws behind them.
double draws_elsewhere(std::int64_t n) { return std::clamp(std::floor(3e6 / static_cast<double>(n)), 24.0, 1000.0); }

std::vector<NamedLaw> named_laws() {
  const double root2 = std::sqrt(2.0);
  return {
      {"1/sqrt d",
       Scale::inverse_sqrt_d(),
       {{{3.71, 6.47, 9.24, 11.32}, 0.999}, {{3.69, 6.45, 9.22, 11.29}, 0.997}, {{3.69, 6.44, 9.21, 11.29}, 0.997}}},
      {"log n/d",
       Scale::log_n(),
       {{{3.68, 5.72, 7.65, 9.10}, 0.706}, {{4.03, 6.56, 8.99, 10.75}, 0.881}, {{4.13, 6.84, 9.52, 11.51}, 0.969}}},
      {"log_512(n)/sqrt d",
       Scale::log_n_sqrt_d(1 / std::log(512.0)),
       {{{3.95, 6.37, 8.69, 10.38}, 0.842}, {{3.94, 6.34, 8.56, 10.13}, 0.810}, {{3.95, 6.32, 8.52, 10.03}, 0.798}}},
      {"log n/sqrt d",
       Scale::log_n_sqrt_d(),
       {{{1.44, 1.69, 2.21, 2.63}, 0.151}, {{1.32, 1.26, 1.19, 1.30}, -0.017}, {{1.26, 1.13, 1.07, 0.90}, -0.048}}},
      {"sqrt(log n/d)",
       Scale::sqrt_log_n(),
       {{{2.76, 4.66, 6.81, 8.51}, 0.758}, {{2.66, 4.21, 5.84, 7.22}, 0.587}, {{2.62, 4.01, 5.50, 6.45}, 0.507}}},
      {"sqrt(2 log n/d)",
       Scale::sqrt_log_n(root2),
       {{{2.09, 3.52, 5.37, 6.94}, 0.638}, {{1.96, 2.89, 3.80, 4.82}, 0.349}, {{1.90, 2.65, 3.44, 3.77}, 0.244}}},
      {"1.5 sqrt(2 log n/d)",
       Scale::sqrt_log_n(1.5 * root2),
       {{{1.38, 2.23, 3.55, 4.81}, 0.446}, {{1.26, 1.69, 2.07, 2.63}, 0.155}, {{1.21, 1.51, 1.84, 1.84}, 0.084}}},
      {"1/sqrt d + 0.1 log n/d",
       Scale::hybrid(1, 0.1),
       {{{3.63, 6.31, 9.02, 11.04}, 0.974}, {{3.65, 6.36, 9.09, 11.14}, 0.984}, {{3.67, 6.39, 9.15, 11.21}, 0.991}}}};
}

std::vector<Scale> scales_of(const std::vector<NamedLaw>& laws) {
  std::vector<Scale> out;
  for (const NamedLaw& law : laws) out.push_back(law.scale);
  return out;
}

// H of `rows` rows of n scores d cos(theta), under each lambda.
std::vector<Mean> cosine_rows(Check& check, const std::vector<double>& lambdas, std::int64_t n, std::int64_t d,
                              std::int64_t rows) {
  std::vector<Mean> out(lambdas.size());
  const std::int64_t at_once = std::max<std::int64_t>(1, (1 << 16) / n);
  for (std::int64_t first = 0; first < rows; first += at_once) {
    Table scores(static_cast<std::size_t>(std::min(at_once, rows - first)), static_cast<std::size_t>(n));
    for (double& s : scores.values) s = static_cast<double>(d) * random_cosine(check.random(), static_cast<int>(d));
    for (std::size_t i = 0; i < lambdas.size(); ++i)
      for (const Record& record : records_of(scores, lambdas[i])) out[i].add(entropy(record));
  }
  return out;
}

std::vector<double> lambdas_of(const std::vector<NamedLaw>& laws, std::int64_t n, std::int64_t d) {
  std::vector<double> out;
  for (const NamedLaw& law : laws) out.push_back(law_lambda(law.scale, n, d));
  return out;
}

// One column of the table: every law at a given d.
void compare_table(Check& check, const std::vector<NamedLaw>& laws, std::int64_t d, std::size_t column) {
  // The slopes of the other columns are computed only in the thorough tier.
  const bool slopes = check.thorough() || d == 64;
  const std::vector<std::int64_t> lengths = slopes ? powers_of_two(6, 17) : kQuotedLengths;
  // Rows vary about as much at the next length: beyond 2^14 the deviation is taken from there, unless drawn.
  std::vector<std::int64_t> drawn = kQuotedLengths;
  if (!check.thorough()) drawn.pop_back();
  std::vector<std::vector<Mean>> rows;
  for (const std::int64_t n : drawn)
    rows.push_back(cosine_rows(check, lambdas_of(laws, n, d), n, d,
                               std::clamp<std::int64_t>(check.effort(1 << 18, 1 << 20) / n, 48, 600)));
  for (std::size_t i = 0; i < laws.size(); ++i) {
    std::vector<experiments::lengths::Estimate> expected;
    for (const std::int64_t n : lengths) {
      const auto next = std::lower_bound(drawn.begin(), std::prev(drawn.end()), n) - drawn.begin();
      expected.push_back({law_entropy(laws[i].scale, n, d),
                          rows[static_cast<std::size_t>(next)][i].deviation() / std::sqrt(draws_elsewhere(n))});
    }
    for (std::size_t t = 0; t < kQuotedLengths.size(); ++t) {
      const auto at = std::find(lengths.begin(), lengths.end(), kQuotedLengths[t]) - lengths.begin();
      const auto [value, error] = expected[static_cast<std::size_t>(at)];
      const std::string name = fmt::format("H under {}, d = {}, n = {}", laws[i].name, d, kQuotedLengths[t]);
      if (t < rows.size()) check.near(name + ", drawn scores", rows[t][i].estimate(), value, 1e-3);
      check.near(name + ", quoted", value, laws[i].elsewhere[column].entropy[t], 5 * error + 0.005);
    }
    if (!slopes) continue;
    const experiments::lengths::Estimate slope = experiments::lengths::slope(lengths, expected);
    check.near(fmt::format("slope of {}, d = {}, quoted", laws[i].name, d), slope.mean, laws[i].elsewhere[column].slope,
               5 * slope.error + 6e-4);
  }
}

void entropy_of_every_law(Check& check) {
  const std::vector<NamedLaw> laws = named_laws();
  // With keys that are vectors, at d = 64.
  const std::vector<Curve> curves =
      draw_curves(check, scales_of(laws), context_lengths(check), 64, check.effort(96, 800));
  report::Plot plot{"Random keys, d = 64", "n", "H (nats)", report::PlotScale::log, {}, {}};
  for (std::size_t i = 0; i < laws.size(); ++i) {
    compare_with_theory(check, laws[i].name, curves[i], laws[i].scale, 64);
    plot.curves.push_back({laws[i].name, curves[i].x(), curves[i].y()});
  }
  check.plot(plot);
  // With their scores alone, at every d.
  for (const auto& [d, column] : {std::pair{16, 0u}, {64, 1u}, {256, 2u}}) compare_table(check, laws, d, column);
}

// H = log n - d kl(lambda) in high dimension, where Gaussian scores would give log n - d lambda^2/2.
void saddle_point(Check& check) {
  const double log_n = 17 * std::log(2.0), d = 64;
  struct Point {
    double lambda, elsewhere, saddle, gaussian;
  };
  report::PlotCurve measured{"drawn", {}, {}}, formula{"log n - d kl(lambda)", {}, {}, report::CurveStyle::formula},
      bell{"Gaussian scores: log n - d lambda^2/2", {}, {}, report::CurveStyle::bound};
  const std::vector<Point> points = {
      {0.1, 11.468, 11.468, 11.464}, {0.2, 10.573, 10.574, 10.504}, {0.3, 9.221, 9.229, 8.904}};
  const std::vector<Mean> drawn = cosine_rows(check, {0.1, 0.2, 0.3}, 131072, 64, check.effort(16, 40));
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& x = points[i];
    const Mean& rows = drawn[i];
    const double saddle = cosine_saddle_entropy(log_n, d, x.lambda), gaussian = log_n - d * x.lambda * x.lambda / 2;
    check.near(fmt::format("H at lambda = {}, d = 64, n = 2^17", x.lambda), rows.estimate(), saddle, 0.006);
    check.near(fmt::format("other draws at lambda = {}", x.lambda), x.elsewhere,
               expected_row(ScoreLaw::cosine(d), log_n, x.lambda).entropy,
               5 * rows.deviation() / std::sqrt(40.0) + 5e-4);
    check.near(fmt::format("the saddle point's value at lambda = {}", x.lambda), saddle, x.saddle, 6e-4);
    check.near(fmt::format("that of Gaussian scores at lambda = {}", x.lambda), gaussian, x.gaussian, 6e-4);
    measured.x.push_back(x.lambda), measured.y.push_back(rows.mean());
    formula.x.push_back(x.lambda), formula.y.push_back(saddle);
    bell.x.push_back(x.lambda), bell.y.push_back(gaussian);
  }
  check.plot({"Random keys, d = 64, n = 2^17", "lambda", "H (nats)", {}, {}, {measured, formula, bell}});
  for (const auto& [lambda, power] : {std::pair{0.05, 1.99}, {0.5, 1.56}, {1.0, 1.15}, {5.0, 0.53}}) {
    const double h = 1e-5;
    const double found = std::log(cosine_divergence(lambda * (1 + h)) / cosine_divergence(lambda * (1 - h))) / (2 * h);
    check.near(fmt::format("local power of lambda in kl at lambda = {}", lambda), found,
               cosine_divergence_exponent(lambda), 1e-6);
    check.near(fmt::format("the same as printed to two digits, lambda = {}", lambda), found, power, 0.005);
  }
}

// The lambda for constant H: sqrt(2 (log n - H)/d) while keys are spread out, n^{2/(d - 1)} once they crowd the query.
void scale_that_holds(Check& check) {
  const double log_n = 40, h = 1e-3;
  const auto scale = [&](double l) { return scale_for_entropy(ScoreLaw::cosine(4096), l, 20); };
  check.relative("lambda that holds H = 20 at log n = 40, d = 4096", scale(log_n), std::sqrt(2 * 20 / 4096.0), 0.02);
  check.near("its local power of log n", std::log(scale(log_n * (1 + h)) / scale(log_n * (1 - h))) / (2 * h),
             gaussian_local_exponent(log_n, 20), 0.02);
  std::vector<double> logs, held;
  for (const std::int64_t n : powers_of_two(6, 17)) {
    logs.push_back(std::log(static_cast<double>(n)));
    held.push_back(scale_for_entropy(ScoreLaw::cosine(64), logs.back(), 2));
  }
  check.near("power of log n that holds H = 2, d = 64, n = 2^6 ... 2^17", power(logs, held), 1, 0.05);
  const ScoreLaw low = ScoreLaw::cosine(4);
  check.near("power of n far out, d = 4", std::log(scale_for_entropy(low, 12, 1.5) / scale_for_entropy(low, 11, 1.5)),
             2.0 / 3, 1e-3);
}

void every_law(Check& check) {
  entropy_of_every_law(check);
  saddle_point(check);
  scale_that_holds(check);
}

}  // namespace

std::vector<Claim> law_claims() {
  return {computed("003-P6, 23", Verdict::note,
                   "lambda proportional to log n/d: what every law does to the entropy of random keys",
                   "the exact expectation under each law; log n/d slows the growth of H and does not stop it. For many "
                   "dimensions H = log n - d kl(lambda), so the lambda that holds H grows first as sqrt(log n - H), "
                   "then about as log n, at last as n^{2/(d-1)}",
                   every_law)};
}

}  // namespace isentropic::ledger::invariance
