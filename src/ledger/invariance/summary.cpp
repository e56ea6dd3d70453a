// Section 30: the source's own summary.
#include <fmt/format.h>

#include "isentropic/theory/random_scores.hpp"
#include "isentropic/theory/scale_laws.hpp"
#include "ledger/invariance/drawn.hpp"
#include "ledger/invariance/subjects.hpp"

namespace isentropic::ledger::invariance {
namespace {

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
