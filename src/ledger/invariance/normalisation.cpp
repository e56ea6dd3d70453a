// Sections 16 to 18: normalised inputs, scales that depend on the length, position codes.
#include <fmt/format.h>

#include "experiments/tools/algebra.hpp"
#include "isentropic/theory/scale_laws.hpp"
#include "ledger/invariance/drawn.hpp"
#include "ledger/invariance/subjects.hpp"

namespace isentropic::ledger::invariance {
namespace {

double mean_of_row(std::span<const double> x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

double norm(std::span<const double> x) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  return std::sqrt(squares);
}

// x/sqrt(mean x^2), unit gain, no epsilon.
Table rms_norm(Table x) {
  for (std::size_t i = 0; i < x.rows; ++i) {
    const double root = norm(x.row(i)) / std::sqrt(static_cast<double>(x.columns));
    for (double& v : x.row(i)) v /= root;
  }
  return x;
}

Table centred(Table x) {
  for (std::size_t i = 0; i < x.rows; ++i) {
    const double mean = mean_of_row(x.row(i));
    for (double& v : x.row(i)) v -= mean;
  }
  return x;
}

// (x - mean)/deviation, unit gain, no epsilon.
Table layer_norm(Table x) {
  for (std::size_t i = 0; i < x.rows; ++i) {
    const double mean = mean_of_row(x.row(i));
    double variance = 0;
    for (const double v : x.row(i)) variance += (v - mean) * (v - mean) / static_cast<double>(x.columns);
    for (double& v : x.row(i)) v = (v - mean) / std::sqrt(variance);
  }
  return x;
}

Table shifted_input(Random& random, std::size_t rows, std::size_t d) {
  Table x = normal_table(random, rows, d, 3);
  for (double& v : x.values) v += 2;
  return x;
}

// q.k of every query with every key: over a single key at lambda = 1 the largest logit is the score itself.
std::vector<double> scores(const Table& q, const Table& k) {
  std::vector<double> out;
  for (std::size_t j = 0; j < k.rows; ++j) {
    const Table one(1, k.columns, {k.row(j).begin(), k.row(j).end()});
    for (const Record& r :
         attend(q, one, Table(1, 1, 0.0), {.query = {}, .key = {}, .scale = Scale::constant(1.0)}).rows.records())
      out.push_back(r.m);
  }
  return out;
}

void norms(Check& check) {
  const Table x = shifted_input(check.random(), 50, 64);
  const Table layer = layer_norm(x), rms = rms_norm(x);
  double worst = 0;
  for (std::size_t i = 0; i < x.rows; ++i)
    worst = std::max({worst, std::abs(norm(layer.row(i)) - 8), std::abs(norm(rms.row(i)) - 8)});
  check.near("norm of LayerNorm(x) and RMSNorm(x) less sqrt d", worst, 0, 1e-12);
  check.near("RMSNorm less LayerNorm on centred input", difference(rms_norm(centred(x)).values, layer.values), 0,
             1e-12);
  // Hence a raw score is d cos(theta), theta the angle between the inputs.
  const std::vector<double> products = scores(rms, rms);
  double score = 0;
  for (std::size_t j = 0; j < x.rows; ++j)
    for (std::size_t i = 0; i < x.rows; ++i) {
      const double cosine = dot(x.row(i), x.row(j)) / (norm(x.row(i)) * norm(x.row(j)));
      score = std::max(score, std::abs(products[j * x.rows + i] - 64 * cosine));
    }
  check.near("scores less d cos(theta), largest", score, 0, 1e-10);
  std::int64_t finite = 0;
  for (const double v : layer_norm(Table(1, 64, 2.0)).values) finite += std::isfinite(v);
  check.never("finite numbers in LayerNorm of equal ones, without epsilon", finite);
}

double mean_entropy(const Table& q, const Table& k, const AttentionProblem& options) {
  Mean h;
  for (const Record& record : attend(q, k, Table(k.rows, 1, 0.0), options).rows.records()) h.add(entropy(record));
  return h.mean();
}

void norms_ignore_length(Check& check) {
  std::vector<double> x, y;
  for (const std::size_t n : {64u, 256u, 1024u}) {
    const Table q = normal_table(check.random(), 40, 64), k = normal_table(check.random(), n, 64);
    Table louder = k;
    for (double& v : louder.values) v *= 30;
    const AttentionProblem usual{.query = {}, .key = {}};
    const double h = mean_entropy(rms_norm(q), rms_norm(k), usual);
    check.near(fmt::format("H after RMSNorm when the input is 30 times as large, n = {}", n),
               mean_entropy(rms_norm(q), rms_norm(louder), usual), h, 1e-10);
    check.at_most("H without the norm", mean_entropy(q, louder, usual), h - 2);
    x.push_back(std::log(static_cast<double>(n))), y.push_back(h);
  }
  check.near("slope dH/dlog n with normalised inputs", slope(x, y), 1, 0.03);
}

void scale_per_length(Check& check) {
  const std::size_t n = 64, d = 8;
  const Table x = normal_table(check.random(), n, d);
  const AttentionResult result =
      attend(x, x, x, {.query = {}, .key = {}, .mask = Mask::causal(), .scale = Scale::log_n(1.5)});
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i)
    worst = std::max(worst, std::abs(result.rows.scale(i) - 1.5 * std::log(static_cast<double>(i + 1)) / 8));
  check.near("lambda of a causal row less kappa log(i + 1)/d", worst, 0, 1e-14);
  for (const std::size_t length : {10u, 40u})
    check.near(fmt::format("lambda of a row of {} keys", length),
               attend(Table(1, d, 1.0), Table(length, d, 1.0), Table(length, 1, 0.0),
                      {.query = {}, .key = {}, .scale = Scale::log_n(1.5)})
                   .rows.scale(0),
               1.5 * std::log(static_cast<double>(length)) / 8, 1e-14);
}

void frozen_scale(Check& check) {
  const Scale frozen = Scale::frozen(1.0, 131072);
  const std::vector<std::int64_t> lengths = context_lengths(check);
  const Curve curve = draw_curve(check, frozen, lengths, 64, check.effort(96, 600));
  // lambda is what stays the same; the entropy does not.
  const auto longest = static_cast<std::size_t>(lengths.back());
  const double lambda = scale_in_use(frozen, longest, 64) / scale_in_use(frozen, 64, 64),
               entropy = curve.entropy(lengths.size() - 1).mean / curve.entropy(0).mean;
  check.near(fmt::format("{} keys over 64: what is to stay the same", longest), check.choose(lambda, entropy), 1, 1e-9);
  check.near("slope dH/dlog n", curve.slope(), law_slope(frozen, lengths, 64), 0.002);
  check.at_least("slope is at least", curve.slope().mean, 0.95);
  check.near("expected slope, n = 2^6 ... 2^17", law_slope(frozen, powers_of_two(6, 17), 64), 0.989, 0.003);
  check.near("that of 1/sqrt d", law_slope(Scale::inverse_sqrt_d(), powers_of_two(6, 17), 64), 0.997, 0.002);
}

Table first_rows(const Table& x, std::size_t rows) {
  return {rows, x.columns, {x.values.begin(), x.values.begin() + static_cast<std::ptrdiff_t>(rows * x.columns)}};
}

// Causal rows, and the same rows after more text has been appended.
void text_goes_on(Check& check) {
  const std::size_t n = 64, before = 40, d = 16;
  const Table x = normal_table(check.random(), n, d);
  const auto outputs = [&](std::size_t length, const Scale& scale) {
    const Table text = first_rows(x, length);
    const AttentionProblem options{.query = {}, .key = {}, .mask = Mask::causal(), .scale = scale};
    return first_rows(table_of(attend(text, text, text, options).output), before).values;
  };
  const auto change = [&](const Scale& earlier, const Scale& later) {
    return difference(outputs(before, earlier), outputs(n, later));
  };
  const auto of_the_whole = [&](std::size_t length) {
    return Scale::constant(law_lambda(Scale::log_n(), static_cast<std::int64_t>(length), d));
  };
  const double whole = change(of_the_whole(before), of_the_whole(n)), own = change(Scale::log_n(), Scale::log_n());
  check.at_least("largest change of 40 rows when 24 more follow", check.choose(whole, own), 0.01);
  check.near("the same with the log of the keys each row sees", own, 0, 1e-14);
  check.near("the same with a frozen scale", change(Scale::frozen(1.0, 64), Scale::frozen(1.0, 64)), 0, 1e-14);
}

Table added(const Table& x, const Table& y) {
  Table out = x;
  for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] += y.values[i];
  return out;
}

void absolute_codes(Check& check) {
  Random& random = check.random();
  const Table q = normal_table(random, 5, 16), k = normal_table(random, 6, 16), p = normal_table(random, 5, 16),
              r = normal_table(random, 6, 16);
  const std::vector<double> whole = scores(added(q, p), added(k, r));
  const std::vector<double> qk = scores(q, k), qr = scores(q, r), pk = scores(p, k), pr = scores(p, r);
  double worst = 0;
  for (std::size_t i = 0; i < whole.size(); ++i)
    worst = std::max(worst, std::abs(whole[i] - qk[i] - qr[i] - pk[i] - pr[i]));
  check.near("score less its four parts", worst, 0, 1e-12);
}

Table sinusoids(std::size_t positions, std::size_t d) {
  Table out(positions, d);
  for (std::size_t p = 0; p < positions; ++p)
    for (std::size_t i = 0; i < d / 2; ++i) {
      const double angle =
          static_cast<double>(p) * std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(d));
      out(p, 2 * i) = std::sin(angle), out(p, 2 * i + 1) = std::cos(angle);
    }
  return out;
}

void sinusoidal_codes(Check& check) {
  const Table code = sinusoids(1001, 64);
  const auto product = [&](std::size_t i, std::size_t j) { return dot(code.row(i), code.row(j)); };
  for (const auto& [lag, quoted] : {std::pair{0, 32.0},
                                    {1, 30.9},
                                    {2, 28.3},
                                    {5, 23.5},
                                    {10, 21.1},
                                    {50, 15.7},
                                    {100, 17.9},
                                    {500, 6.4},
                                    {1000, 8.9}})
    check.near(fmt::format("product of codes {} apart, d = 64", lag), product(0, static_cast<std::size_t>(lag)), quoted,
               0.06);
  check.near("products at the same lag, elsewhere", product(100, 130) - product(500, 530), 0, 1e-9);
  // On average, decade by decade.
  const auto mean_product = [&](std::size_t first, std::size_t last) {
    Mean out;
    for (std::size_t lag = first; lag <= last; ++lag) out.add(product(0, lag));
    return out.mean();
  };
  const double near = mean_product(1, 9), middle = mean_product(10, 99), far = mean_product(100, 1000);
  check.at_least("mean product at lags 1 ... 9 less that at 10 ... 99", near - middle, 5);
  check.at_least("mean product at lags 10 ... 99 less that at 100 ... 1000", middle - far, 5);
  int rises = 0;
  for (std::size_t lag = 1; lag < 300; ++lag) rises += product(0, lag) > product(0, lag - 1);
  check.near("rises in the first 300 lags", rises, 135, 0);
  report::PlotCurve curve{"d = 64", {}, {}, report::CurveStyle::formula};
  for (std::size_t lag = 0; lag <= 300; ++lag)
    curve.x.push_back(static_cast<double>(lag)), curve.y.push_back(product(0, lag));
  check.plot({"Product of two sinusoidal codes", "distance", "product", {}, {}, {curve}});
}

double mass_nearby(const Table& weights, std::size_t reach) {
  double mass = 0;
  for (std::size_t i = 0; i < weights.rows; ++i)
    for (std::size_t j = 0; j < weights.columns; ++j)
      if ((i > j ? i - j : j - i) <= reach) mass += weights(i, j) / static_cast<double>(weights.rows);
  return mass;
}

void codes_pull_near(Check& check) {
  struct Quoted {
    std::size_t d;
    double entropy, mass;
  };
  const std::size_t n = 512;
  const AttentionProblem usual{.query = {}, .key = {}};
  for (const Quoted& x : {Quoted{64, 5.169, 0.142}, {512, 3.215, 0.696}}) {
    const Table code = sinusoids(n, x.d);
    Mean plain, plain_mass, coded, coded_mass;
    for (std::int64_t set = 0; set < check.effort(x.d == 64 ? 8 : 4, 24); ++set) {
      const Table q = normal_table(check.random(), n, x.d), k = normal_table(check.random(), n, x.d);
      plain.add(mean_entropy(q, k, usual)), plain_mass.add(mass_nearby(weights_of(q, k, usual), 8));
      const Table near_q = added(q, code), near_k = added(k, code);
      coded.add(mean_entropy(near_q, near_k, usual)), coded_mass.add(mass_nearby(weights_of(near_q, near_k, usual), 8));
    }
    // Quoted: 10 pairs of matrices for H, one for the mass. Here a few more.
    const auto compare = [&](const std::string& name, const Mean& mean, double draws, double quoted, double rounding) {
      check.near(fmt::format("{}, d = {}", name, x.d), mean.mean(), quoted,
                 rounding + 5 * std::hypot(mean.estimate().error, mean.deviation() / std::sqrt(draws)));
    };
    compare("H with sinusoidal codes", coded, 10, x.entropy, 5e-3);
    compare("mass within 8 positions with codes", coded_mass, 1, x.mass, 1e-3);
    check.at_least(fmt::format("H without codes less H with them, d = {}", x.d), plain.mean() - coded.mean(), 0.4);
    if (x.d != 64) continue;
    compare("H without codes", plain, 10, 5.741, 5e-3);
    compare("mass within 8 positions without codes", plain_mass, 1, 0.033, 1e-3);
  }
}

}  // namespace

std::vector<Claim> normalisation_claims() {
  using enum Verdict;
  return {
      computed("003-43,44,45", holds, "LayerNorm and RMSNorm fix the norm of their output at sqrt d (unit gain)",
               "so s = d cos(theta) before projections; equal on centred input; code needs an epsilon", norms),
      computed("003-s16", holds, "Normalised inputs steady the scores but know nothing of n", "", norms_ignore_length),
      listed("003-s16b", not_checked, "RMSNorm is cheaper than LayerNorm and as good",
             "cheaper, since it needs no mean; whether as good is a question about training"),
      computed("003-46", holds, "The scale is recomputed for every length: kappa log n/d", "", scale_per_length),
      computed("003-s17", holds_if, "The scale may be frozen at the longest training length",
               "if lambda is what should stay: it is a fixed temperature, and H grows with slope 0.99", frozen_scale),
      computed("003-s17b", holds_if, "A scale that follows the length makes a model less consistent",
               "if the length is that of the whole input: earlier rows then change as text follows. With the keys that "
               "each row sees, (51), none does",
               text_goes_on),
      computed("003-47", holds, "Absolute codes are added to query and key before the product", "", absolute_codes),
      computed("003-48", holds, "Sinusoidal codes: near positions have a large product, far ones a small one",
               "on average; not monotone; a function of the distance alone", sinusoidal_codes),
      computed("003-s18", holds, "With position codes attention moves near and H may fall", "without projections",
               codes_pull_near),
  };
}

}  // namespace isentropic::ledger::invariance
