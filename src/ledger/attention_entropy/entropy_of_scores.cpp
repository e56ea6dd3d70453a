// Sections 6 and 7: the entropy of a row from its scores, and the effect of large scores.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/information/distribution.hpp"
#include "isentropic/theory/random_scores.hpp"
#include "isentropic/theory/simplex.hpp"
#include "ledger/attention_entropy/subjects.hpp"

namespace isentropic::ledger::attention_entropy {
namespace {

void four_properties(Check& check) {
  check.near("equal weights, n = 7", entropy_of(std::vector<double>(7, 0.3)), std::log(7.0), 1e-15);
  check.near("one-hot weights", entropy(std::vector<double>{0, 0, 1, 0}), 0, 0);
  std::int64_t outside = 0, equal_or_one_hot = 0;
  double worst = 0;
  for (std::int64_t t = 0; t < check.effort(1000, 10000); ++t) {
    const auto n = static_cast<std::size_t>(check.random().integer(2, 40));
    const std::vector<double> p = check.random().probabilities(n);
    std::vector<double> scores(n);
    std::transform(p.begin(), p.end(), scores.begin(), [](double x) { return std::log(x); });
    const double h = entropy(p), most = std::log(static_cast<double>(n));
    outside += h < 0 || h > most;
    equal_or_one_hot += h < 1e-9 || h > most - 1e-9;
    worst = std::max(worst, std::abs(entropy_of(scores) - h));
  }
  check.never("random weights outside [0, log n]", outside);
  check.never("random weights at either end", equal_or_one_hot);
  check.near("kernel against -sum a log a, worst of all", worst, 0, 1e-12);
}

void entropy_from_partition(Check& check) {
  double worst = 0, shifted = 0, overflows = 0;
  for (const std::size_t n : {5u, 50u, 500u}) {
    const std::vector<double> scores = check.random().normals(n, 2);
    double z = 0, moment = 0;
    for (double s : scores) z += std::exp(s), moment += s * std::exp(s);
    const double printed = std::log(z) - moment / z;
    worst = std::max({worst, std::abs(entropy_of(scores) - printed), std::abs(entropy(weights_of(scores)) - printed)});
    std::vector<double> high = scores;
    for (double& s : high) s += 4096;  // sums with these are exact enough
    shifted = std::max(shifted, std::abs(entropy_of(high) - printed));
    overflows += std::isinf(std::exp(high[0]));
  }
  check.near("log Z - sum s e^s / Z against kernel and weights", worst, 0, 1e-12);
  check.near("the same scores 4096 higher", shifted, 0, 1e-11);
  check.near("rows of 3 where e^s alone overflows there", overflows, 3, 0);
}

struct Saturation {
  std::vector<double> sigma;
  std::vector<Estimate> entropy, peak;
};

Saturation saturation_of(const Table& normals, const std::vector<double>& sigmas) {
  Saturation out;
  for (const double sigma : sigmas) {
    Mean h, p;
    for (const Record& record : records_of(normals, sigma)) h.add(entropy(record)), p.add(peak(record));
    out.sigma.push_back(sigma);
    out.entropy.push_back(h.estimate());
    out.peak.push_back(p.estimate());
  }
  return out;
}

// The density at 0 of the gap between the two largest of n standard normal numbers: n (n - 1) int phi^2 Phi^(n - 2).
double density_of_ties(double n) {
  double out = 0;
  const double h = 0.005;
  for (double x = -4; x < 10; x += h) {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    out += h * n * (n - 1) * density * density * std::pow(std::erfc(-x / std::numbers::sqrt2) / 2, n - 2);
  }
  return out;
}

constexpr double kPerTie = std::numbers::pi * std::numbers::pi / 6;  // int H(softmax(0, x)) dx over x > 0

// The limit of sigma H / (pi^2 / 6) for sigma -> infinity, from the exact expectation at sigma and 2 sigma: the next
// term is 1/sigma.
double ties_by_entropy(double log_n, double sigma) {
  const auto at = [&](double x) { return x * expected_row(ScoreLaw::gaussian(), log_n, x).entropy / kPerTie; };
  return 2 * at(2 * sigma) - at(sigma);
}

void wide_gaussian_scores(Check& check) {
  const auto rows = static_cast<std::size_t>(check.effort(3000, 12000));
  const Table normals(rows, 1024, check.random().normals(rows * 1024));
  const Saturation found = saturation_of(normals, {1, 3.72, 10, 20, 50, 100});
  const std::vector<double> quoted = {6.43, 2.60, 0.68, 0.30, 0.11, 0.053};
  // sigma far beyond sqrt(2 log n) = 3.72, or no larger than that.
  const std::size_t at = check.choose<std::size_t>(5, 1);
  check.at_most("mean H at the large sigma, n = 1024", found.entropy[at].mean, 0.08);
  check.at_least("mean largest weight there", found.peak[at].mean, 0.95);
  report::PlotCurve exact{
      .label = "exact expectation", .x = found.sigma, .y = {}, .style = report::CurveStyle::formula};
  for (std::size_t x = 0; x < found.sigma.size(); ++x) {
    exact.y.push_back(expected_row(ScoreLaw::gaussian(), std::log(1024.0), found.sigma[x]).entropy);
    const std::string where = " at sigma = " + short_text(found.sigma[x]);
    check.near("mean H" + where, found.entropy[x], exact.y[x]);
    // Quoted from 1500 other rows, and rounded.
    const double quoted_error = found.entropy[x].error * std::sqrt(static_cast<double>(rows) / 1500);
    check.near("mean H, quoted," + where, found.entropy[x], quoted[x], (x < 5 ? 5e-3 : 5e-4) + 5 * quoted_error);
  }
  check.near("mean largest weight at sigma = 100, quoted", found.peak[5], 0.98, 0.005);
  // Only ties at the top leave entropy, (pi^2 / 6) / sigma each. Their density approaches sqrt(2 log n) slowly.
  const double ties = density_of_ties(1024);
  check.near("sigma H / (pi^2 / 6), sigma -> infinity, against the density of ties",
             ties_by_entropy(std::log(1024.0), 50), ties, 0.005);
  check.near("density of ties, n = 1024", ties, 3.25, 0.005);
  check.near("sqrt(2 log n) over it", std::sqrt(2 * std::log(1024.0)) / ties, 1.15, 0.005);
  check.near("sigma H / (pi^2 / 6) over sqrt(2 log n), sigma -> infinity, n = e^300",
             ties_by_entropy(300, 250) / std::sqrt(600.0), 1, 0.015);

  report::PlotCurve measured{.label = "measured, n = 1024", .x = found.sigma, .y = {}};
  report::PlotCurve law{.label = "(pi^2 / 6) 3.25 / sigma", .x = {}, .y = {}, .style = report::CurveStyle::formula};
  for (std::size_t x = 0; x < found.sigma.size(); ++x) {
    measured.y.push_back(found.entropy[x].mean);
    if (found.sigma[x] < 10) continue;
    law.x.push_back(found.sigma[x]);
    law.y.push_back(kPerTie * ties / found.sigma[x]);
  }
  check.plot({.title = "Entropy of Gaussian scores of deviation sigma",
              .x_label = "sigma",
              .y_label = "H (nats)",
              .x_scale = report::PlotScale::log,
              .y_scale = report::PlotScale::log,
              .curves = {measured, exact, law}});
}

// |J| by power iteration; J x by differences of the kernel's weights.
double jacobian_norm(const std::vector<double>& scores, Random* random) {
  const double h = 1e-5;
  std::vector<double> x = random->normals(scores.size());
  double norm = 0;
  for (int t = 0; t < 40; ++t) {
    double length = 0;
    for (double y : x) length += y * y;
    std::vector<double> up = scores, down = scores;
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] /= std::sqrt(length);
      up[i] += h * x[i], down[i] -= h * x[i];
    }
    const std::vector<double> above = weights_of(up), below = weights_of(down);
    double squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = (above[i] - below[i]) / (2 * h);
      squares += x[i] * x[i];
    }
    norm = std::sqrt(squares);
  }
  return norm;
}

void vanishing_gradient(Check& check) {
  const std::vector<double> scores = check.random().normals(16, 1.5), a = weights_of(scores);
  double worst = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    std::vector<double> up = scores, down = scores;
    up[i] += 1e-5, down[i] -= 1e-5;
    worst = std::max(worst, std::abs((weights_of(up)[i] - weights_of(down)[i]) / 2e-5 - a[i] * (1 - a[i])));
  }
  check.near("d a_i / d s_i against a_i (1 - a_i), worst", worst, 0, 1e-9);
  for (const double lead : {2.0, 10.0, 20.0}) {
    std::vector<double> led(32, 0.0);
    led[7] = lead;
    const double bound = softmax_jacobian_bound(weights_of(led)[7]);
    const std::string where = " where one key leads by " + std::to_string(static_cast<int>(lead));
    check.at_most("norm of d a / d s" + where, jacobian_norm(led, &check.random()), bound, 1e-10);
  }
  // For two keys it is 2 a (1 - a), which reaches the bound for a near 1.
  check.near("norm over its bound, two keys, one leads by 8",
             jacobian_norm({8, 0}, &check.random()) / softmax_jacobian_bound(weights_of(std::vector<double>{8, 0})[0]),
             1, 1e-3);
}

}  // namespace

std::vector<Claim> entropy_of_scores_claims() {
  return {
      computed("001-28 + 4 properties", Verdict::holds,
               "H = -sum a log a is non-negative, at most log n, log n for equal weights and 0 for one-hot ones", "",
               four_properties),
      computed("001-29,30,31", Verdict::holds, "H = log Z - sum s e^s / Z with Z = sum e^s",
               "to be computed relative to the largest score: e^s alone overflows", entropy_from_partition),
      computed(
          "001-32,33", Verdict::holds_if,
          "Gaussian scores of deviation sigma: one-hot weights and H = 0 for large sigma",
          "sigma far above sqrt(2 log n): H falls only like (pi^2 / 6) g / sigma with g = n (n - 1) int phi^2 "
          "Phi^(n-2), the density of ties at the top: sqrt(2 log n) for n -> inf, 3.25 instead of 3.72 at n = 1024",
          wide_gaussian_scores),
      computed("001-34", Verdict::holds, "d a_i / d s_i = a_i (1 - a_i), which vanishes where the weights saturate",
               "for the winner too; the whole Jacobian has norm at most 2 (1 - a_max)", vanishing_gradient),
      listed("001-s7", Verdict::view, "H = 0 leaves nothing to learn, H = log n leaves most to learn",
             "what optimisation makes of it: 001-P4b"),
  };
}

}  // namespace isentropic::ledger::attention_entropy
