// Sections 7 to 9: how lambda should depend on n and d.
#include <fmt/format.h>

#include <algorithm>

#include "isentropic/theory/random_energy.hpp"
#include "isentropic/theory/random_scores.hpp"
#include "isentropic/theory/scale_laws.hpp"
#include "ledger/invariance/drawn.hpp"
#include "ledger/invariance/subjects.hpp"

namespace isentropic::ledger::invariance {
namespace {

void gap_grows(Check& check) {
  const auto maximum = [&](std::size_t n, std::int64_t rows) {
    return mean_of(rows, [&] {
      double most = -1e9;
      for (std::size_t j = 0; j < n; ++j) most = std::max(most, check.random().normal());
      return most;
    });
  };
  const Estimate few = maximum(100, check.effort(2000, 20000)), many = maximum(100000, check.effort(12, 200));
  check.near("max - mean at n = 100", few, 2.51, 0.005);
  check.near("expected max at n = 100", mean_of_maximum(100), 2.51, 0.005);
  check.near("expected max at n = 100000", mean_of_maximum(1e5), 4.39, 0.02);
  check.near("max - mean at n = 100000", many, check.choose(mean_of_maximum(1e5), few.mean));
  // The corrections to sqrt(2 log n) are still growing: 6% of the slope is missing here.
  check.near("slope of (E max)^2 against 2 log n, n = 100 ... 100000",
             (std::pow(mean_of_maximum(1e5), 2) - std::pow(mean_of_maximum(100), 2)) / (2 * std::log(1000.0)), 1, 0.08);
  // A key equal to the query among random ones; the mean includes it.
  for (const std::size_t n : {100u, 10000u}) {
    const Estimate gap = mean_of(check.effort(40, 400), [&] {
      std::vector<double> s(n);
      for (double& x : s) x = 64 * random_cosine(check.random(), 64);
      s[0] = 64;
      return *std::max_element(s.begin(), s.end()) - mean_over(s).mean();
    });
    check.near(fmt::format("max - mean with a planted match of score 64, n = {}", n), gap,
               64 - 64 / static_cast<double>(n));
  }
}

// The lambda at which n scores with one match, s = 1 and the others 0, have this entropy.
double planted_scale(double log_n, double entropy) {
  double low = 0, high = 100 + 2 * log_n;
  while (high - low > 1e-12) {
    const double lambda = (low + high) / 2, z = 1 + std::expm1(log_n) * std::exp(-lambda);
    const double h = std::log(z) + lambda * (1 - 1 / z);
    (h > entropy ? low : high) = lambda;
  }
  return low;
}

double power_of_log_n(const std::vector<std::int64_t>& lengths, const std::function<double(double)>& scale) {
  std::vector<double> x, y;
  for (const std::int64_t n : lengths) x.push_back(std::log(static_cast<double>(n))), y.push_back(scale(x.back()));
  return power(x, y);
}

// A law of scores, the power of n with which lambda must grow to keep H at 1.5, and a way to draw from the law.
struct TailCase {
  const char* name;
  ScoreLaw law;
  double power_of_n, tolerance;  // NaN: none
  std::function<double(Random&)> draw;
};

void scale_follows_the_tail(Check& check) {
  const double entropy = 1.5;
  const std::vector<std::int64_t> lengths =
      check.thorough() ? powers_of_two(12, 17) : std::vector<std::int64_t>{4096, 131072};
  const auto gaussian = [&](double log_n) { return scale_for_entropy(ScoreLaw::gaussian(), log_n, entropy); };
  const auto planted = [&](double log_n) { return planted_scale(log_n, entropy); };
  check.near("power of log n in the lambda that holds H = 1.5",
             check.choose(power_of_log_n(lengths, planted), power_of_log_n(lengths, gaussian)), 1, 0.1);
  // 0.75 was fitted to 16 draws at the longest rows; 0.5 is the limit for very many keys.
  check.near("power of log n, Gaussian scores, n = 2^12 ... 2^17", power_of_log_n(lengths, gaussian), 0.75, 0.1);
  const std::vector<double> far = {100 * std::log(10.0), 300 * std::log(10.0)};
  const auto far_power = [&](const std::function<double(double)>& scale) {
    return power(far, std::vector<double>{scale(far[0]), scale(far[1])});
  };
  check.near("the same, n = 10^100 ... 10^300", far_power(gaussian), 0.5, 0.01);
  check.near("power of log n, planted match, n = 10^100 ... 10^300", far_power(planted), 1, 0.02);
  const double low = std::log(1024.0), high = std::log(131072.0);
  // Powers fitted to 16 independent draws at the longest rows, each of which leaves lambda uncertain by about 10%.
  for (const auto& [name, law, quoted] : {std::tuple{"uniform", ScoreLaw::uniform(), 1.002},
                                          {"exponential", ScoreLaw::exponential(), 0.008},
                                          {"cosine in R^8", ScoreLaw::cosine(8), 0.291},
                                          {"cosine in R^4", ScoreLaw::cosine(4), 0.679}}) {
    std::vector<double> x, y;
    for (const std::int64_t n : lengths) {
      x.push_back(static_cast<double>(n));
      y.push_back(scale_for_entropy(law, std::log(x.back()), entropy));
    }
    check.near(fmt::format("power of n, {} scores, n = 2^12 ... 2^17, quoted", name), power(x, y), quoted, 0.05);
  }
  check.near("lambda that holds H = 1.5, exponential scores, n = 2^6, quoted",
             scale_for_entropy(ScoreLaw::exponential(), 6 * std::log(2.0), entropy), 1.79, 0.06);
  check.near("lambda that holds H = 1.5, exponential scores, n = 2^17, quoted",
             scale_for_entropy(ScoreLaw::exponential(), high, entropy), 2.01, 0.3);
  const std::vector<TailCase> cases = {
      {"Gaussian", ScoreLaw::gaussian(), std::nan(""), 0, [](Random& random) { return random.normal(); }},
      {"exponential", ScoreLaw::exponential(), 0, 0.02, [](Random& random) { return random.exponential(); }},
      {"uniform", ScoreLaw::uniform(), 1, 0.01, [](Random& random) { return random.uniform(); }},
      {"cosine in R^8", ScoreLaw::cosine(8), 2.0 / 7, 0.05,
       [](Random& random) { return 8 * random_cosine(random, 8); }},
      {"cosine in R^4", ScoreLaw::cosine(4), 2.0 / 3, 0.01,
       [](Random& random) { return 4 * random_cosine(random, 4); }}};
  const std::size_t n = static_cast<std::size_t>(check.effort(1024, 131072));
  const double log_n = std::log(static_cast<double>(n));
  for (const TailCase& x : cases) {
    const double first = scale_for_entropy(x.law, low, entropy), last = scale_for_entropy(x.law, high, entropy);
    if (!std::isnan(x.power_of_n))
      check.near(fmt::format("power of n, {} scores", x.name), std::log(last / first) / (high - low), x.power_of_n,
                 x.tolerance);
    const RowMeans rows =
        drawn_rows(n, check.thorough() ? last : first, check.effort(160, 200), [&] { return x.draw(check.random()); });
    check.near(fmt::format("H of drawn {} scores at the solved lambda", x.name), rows.entropy.estimate(), entropy);
  }
  std::vector<double> scores(n, 0.0);
  scores[17] = 1;
  check.near("H of a planted match at the solved lambda", entropy_of(scores, planted(log_n)), entropy, 1e-9);
}

void variance_of_products(Check& check) {
  const double sigma = 1.3, shared = check.choose(0.0, 0.9);
  for (const std::size_t d : {16u, 64u}) {
    Mean s, scaled;
    for (std::int64_t t = 0; t < check.effort(8000, 200000); ++t) {
      double sum = 0;
      for (std::size_t i = 0; i < d; ++i) {
        const double q = sigma * check.random().normal(), other = sigma * check.random().normal();
        sum += q * (shared * q + std::sqrt(1 - shared * shared) * other);
      }
      s.add(sum), scaled.add(sum / std::sqrt(static_cast<double>(d)));
    }
    const double sigma4 = std::pow(sigma, 4), variance = static_cast<double>(d) * sigma4;
    const double share = check.effort(12, 3) / 100.0;
    check.relative(fmt::format("Var(q.k), d = {}", d), s.variance(), variance, share);
    check.relative(fmt::format("Var(q.k/sqrt d), d = {}", d), scaled.variance(), sigma4, share);
  }
}

// E H of Gaussian queries and keys: given q the scores are Gaussian with deviation |q|, and |q| has a chi distribution.
double gaussian_vectors_entropy(double log_n, double lambda, double d) {
  double sum = 0, weights = 0;
  const double middle = std::sqrt(d);
  for (double r = std::max(0.1, middle - 4); r < middle + 4; r += 0.2) {
    const double weight = std::exp((d - 1) * std::log(r / middle) - (r * r - d) / 2);
    sum += weight * expected_row(ScoreLaw::gaussian(r), log_n, lambda).entropy;
    weights += weight;
  }
  return sum / weights;
}

// The largest logit of a row of 64 keys, one of which is the query itself; all have norm sqrt d.
double aligned_logit(Check& check, std::size_t d) {
  const double norm = std::sqrt(static_cast<double>(d));
  const Table q = directions(check.random(), 1, d, norm);
  Table k = directions(check.random(), 64, d, norm);
  std::copy(q.values.begin(), q.values.end(), k.row(17).begin());
  return attend(q, k, Table(64, 1, 0.0), {.query = {}, .key = {}, .scale = Scale::log_n()}).rows.record(0).m;
}

void dependence_on_d(Check& check) {
  const std::size_t n = 1024;
  const double log_n = std::log(n);
  // H from 60 independent draws, and three of their standard errors.
  struct Quoted {
    std::size_t d;
    double entropy, error;
  };
  double least = 1e9, most = -1e9;
  for (const Quoted& x :
       {Quoted{8, 4.28, 0.4}, {16, 5.36, 0.25}, {64, 6.55, 0.06}, {256, 6.84, 0.03}, {1024, 6.91, 0.01}}) {
    const auto drawn = [&](const Scale& scale) {
      Mean h;
      for (std::int64_t set = 0; set < check.effort(2, 20); ++set) {
        const Table q = normal_table(check.random(), 40, x.d), k = normal_table(check.random(), n, x.d);
        for (const Record& record :
             attend(q, k, Table(n, 1, 0.0), {.query = {}, .key = {}, .scale = scale}).rows.records())
          h.add(entropy(record));
      }
      return h.estimate();
    };
    const double d = static_cast<double>(x.d), steady = gaussian_vectors_entropy(log_n, log_n / std::sqrt(d), d);
    const Estimate judged = drawn(check.choose(Scale::log_n_sqrt_d(), Scale::log_n()));
    least = std::min(least, judged.mean), most = std::max(most, judged.mean);
    check.near(fmt::format("H under log n/sqrt d, d = {}", x.d), judged, steady, 0.01);
    const double exact = gaussian_vectors_entropy(log_n, log_n / d, d);
    check.near(fmt::format("H under log n/d, d = {}", x.d), drawn(Scale::log_n()), exact, 0.01);
    check.near(fmt::format("its expectation against other draws, d = {}", x.d), exact, x.entropy, x.error);
    // 1.07 to 1.10 were measured under log n/sqrt d, with an error of 0.1.
    check.near(fmt::format("expectation under log n/sqrt d, d = {}, quoted", x.d), steady, 1.085, 0.4);
    check.near(fmt::format("logit of an aligned match under log n/d, d = {}", x.d), aligned_logit(check, x.d),
               std::log(64.0), 1e-10);
    check.between(fmt::format("d times what H under log n/sqrt d exceeds its limit by, d = {}", x.d),
                  d * (steady - expected_row(ScoreLaw::gaussian(), log_n, log_n).entropy), 1.1, 1.7);
  }
  check.at_most("range of H over d = 8 ... 1024, n = 1024", most - least, 0.5);
}

void kappa_that_holds(Check& check) {
  const std::vector<std::int64_t> lengths = context_lengths(check);
  const std::int64_t rows = check.effort(128, 480);
  for (const std::int64_t d : {16, 64, 256}) {
    if (d != 64 && !check.thorough()) continue;
    check.near(fmt::format("slope dH/dlog n at kappa = 1, d = {}", d),
               draw_curve(check, Scale::log_n(), lengths, d, rows).slope(),
               check.choose(law_slope(Scale::log_n(), lengths, d), 0.0), 0.005);
  }
  const auto all = powers_of_two(6, 17);
  for (const auto& [d, slope] : {std::pair{16, 0.71}, {64, 0.88}, {128, 0.94}, {256, 0.97}})
    check.near(fmt::format("expected slope at kappa = 1, d = {}, n = 2^6 ... 2^17", d),
               law_slope(Scale::log_n(), all, d), slope, 0.01);
  const double kappa = invariant_kappa(lengths, 64).value_or(0);
  check.near(fmt::format("slope at the kappa computed for n = 64 ... {}, {:.3f}, d = 64", lengths.back(), kappa),
             draw_curve(check, Scale::log_n(kappa), lengths, 64, rows).slope(), 0, 0.005);
  for (const auto& [d, level] : {std::pair{64, 5.2}, {128, 6.1}, {256, 8.0}})
    check.near(fmt::format("expected slope at kappa = {}, d = {}, n = 2^6 ... 2^17", level, d),
               law_slope(Scale::log_n(level), all, d), 0, 0.002);
  // The kappas at which independent draws were level, within the error of their slope.
  for (const auto& [d, level] : {std::pair{64, 5.7}, {128, 6.3}, {256, 8.3}})
    check.near(fmt::format("expected slope at kappa = {}, quoted as level, d = {}", level, d),
               law_slope(Scale::log_n(level), all, d), 0, 0.05);
  check.at_least("expected slope at kappa = 8, d = 16", law_slope(Scale::log_n(8), all, 16), 0);
  for (const std::int64_t n : {64, 1024, 131072})
    check.near(fmt::format("expected H at kappa = 5.7, d = 64, n = {}", n), law_entropy(Scale::log_n(5.7), n, 64), 1.9,
               0.1);
  for (const std::int64_t n : powers_of_two(6, 14)) {
    const double log_n = std::log(static_cast<double>(n));
    check.near(fmt::format("log n - (log n)^2/(2 d) at kappa = 1, d = 64, n = {}", n),
               law_entropy(Scale::log_n(), n, 64), log_n - log_n * log_n / 128, 0.05);
  }
  const std::vector<double> kappas = {1, 2, 3.5, 5, 7, 10};
  std::vector<Scale> laws;
  for (const double x : kappas) laws.push_back(Scale::log_n(x));
  report::PlotCurve points{"drawn keys", kappas, {}, report::CurveStyle::points};
  for (const Curve& drawn : draw_curves(check, laws, powers_of_two(6, 12), 64, check.effort(320, 1600))) {
    const std::size_t i = points.y.size();
    check.near(fmt::format("slope at kappa = {}, d = 64, n = 2^6 ... 2^12", kappas[i]), drawn.slope(),
               law_slope(laws[i], powers_of_two(6, 12), 64), 0.005);
    points.y.push_back(drawn.slope().mean);
  }
  report::PlotCurve curve{"expected, d = 64", {}, {}, report::CurveStyle::formula};
  for (double x = 1; x <= 10; x += 1) {
    curve.x.push_back(x);
    curve.y.push_back(law_slope(Scale::log_n(x), powers_of_two(6, 12), 64));
  }
  check.plot({"kappa log n/d on random keys, n = 2^6 ... 2^12", "kappa", "dH/dlog n", {}, {}, {curve, points}});
}

void looks_at_both(Check& check) {
  Random& random = check.random();
  const auto lambda = [&](const Scale& scale, std::size_t n, std::size_t d) {
    const Table q = normal_table(random, 1, d), k = normal_table(random, n, d);
    return attend(q, k, Table(n, 1, 0.0), {.query = {}, .key = {}, .scale = scale}).rows.scale(0);
  };
  check.near("lambda(n^2)/lambda(n) of log n/d", lambda(Scale::log_n(), 400, 8) / lambda(Scale::log_n(), 20, 8), 2,
             1e-12);
  check.near("lambda(2 d)/lambda(d) of log n/d", lambda(Scale::log_n(), 20, 16) / lambda(Scale::log_n(), 20, 8), 0.5,
             1e-12);
  check.near("lambda(n^2)/lambda(n) of 1/sqrt d",
             lambda(Scale::inverse_sqrt_d(), 400, 8) / lambda(Scale::inverse_sqrt_d(), 20, 8), 1, 1e-12);
}

}  // namespace

std::vector<Claim> growth_claims() {
  using enum Verdict;
  return {
      computed(
          "003-19a", corrected, "max s - mean s does not depend on n",
          "for independent scores with a tail it grows, Gaussian as sqrt(2 log n); for a planted match it does not",
          gap_grows),
      computed("003-19b", holds_if, "To hold the entropy, lambda must grow as log n",
               "if the maximum is a planted match; else by the tail: Gaussian sqrt(log n), exponential constant, "
               "bounded with edge exponent k as n^{1/k}",
               scale_follows_the_tail),
      computed("003-20,21,22", holds_if, "Var(q.k) = d sigma^4, and division by sqrt d makes it sigma^4",
               "if the coordinates of q and k are independent", variance_of_products),
      computed("003-23", corrected, "The variance of the scores and log n together give lambda ~ log n/d",
               "variance gives log n/sqrt d, whose H depends on d by O(1/d) alone; log n/d fits scores of order d, "
               "aligned matches",
               dependence_on_d),
      computed("003-24", corrected, "kappa does not depend on n and d and is usually 1",
               "random keys: at kappa = 1 the slope dH/dlog n is 0.71 to 0.97 (d = 16 to 256); it is 0 at kappa = 5.2, "
               "6.1, 8.0 for d = 64, 128, 256 and n = 2^6 ... 2^17",
               kappa_that_holds),
      computed("003-s9", holds, "log n/d looks at length and dimension, 1/sqrt d at dimension alone", "",
               looks_at_both),
  };
}

}  // namespace isentropic::ledger::invariance
