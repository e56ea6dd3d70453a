// The map relu^2 over Gaussian keys.
#include <fmt/format.h>

#include <cmath>

#include "experiments/sparsity/measure.hpp"
#include "experiments/tools/estimate.hpp"
#include "ledger/concentration/subjects.hpp"

namespace isentropic::ledger::concentration {
namespace {

using experiments::sparsity::measure;

double by_quadrature(double t) { return sparsity_by_quadrature(relu_squared, {t, 1}); }

// The closed form as arranged in print.
double printed_arrangement(double beta, double gamma) {
  const double root_pi = std::sqrt(std::numbers::pi), root_two = std::numbers::sqrt2;
  const double half = beta * beta / (2 * gamma * gamma), bell = std::exp(-half);
  const double erf = std::erf(beta / (root_two * gamma)) + 1;
  const double b2 = beta * beta, g2 = gamma * gamma;
  const double above = bell * (root_two * beta * gamma + root_pi * std::exp(half) * (b2 + g2) * erf);
  const double below =
      2 * root_two * beta * gamma * bell * (b2 + 5 * g2) + 2 * root_pi * (b2 * b2 + 6 * b2 * g2 + 3 * g2 * g2) * erf;
  return above / (std::sqrt(root_pi) * std::sqrt(below));
}

void closed_form_of_relu_squared(Check& check) {
  double worst = 0, worst_printed = 0;
  for (const double beta : {-3.0, -1.0, -0.3, 0.0, 0.3, 1.0, 3.0})
    for (const double gamma : {0.5, 1.0, 1.5, 2.0, 4.0}) {
      const double found = sparsity_by_quadrature(relu_squared, {beta, gamma});
      worst = std::max(worst, std::abs(found - sparsity_of_relu_squared({beta, gamma})));
      if (beta / gamma > -3)
        worst_printed = std::max(worst_printed, std::abs(found - printed_arrangement(beta, gamma)));
    }
  check.near("largest error on a grid of beta and gamma", worst, 0, 1e-9);
  check.near("that of the printed arrangement, t > -3", worst_printed, 0, 1e-9);
  for (const double t : {-5.0, -10.0, -20.0, -35.0})
    check.relative(fmt::format("S at t = {}", t), by_quadrature(t), sparsity_of_relu_squared({t, 1}), 1e-8);
  check.relative("the S known at t = -10", sparsity_of_relu_squared({-10, 1}), 1.1474e-12, 1e-4);
  check.relative("the S known at t = -5", sparsity_of_relu_squared({-5, 1}), 2.3e-4, 0.02);
  check.relative("the S known at t = -35", sparsity_of_relu_squared({-35, 1}), 4.3e-135, 0.02);
  check.near("S at t = 1000", by_quadrature(1000), sparsity_of_relu_squared({1000, 1}), 1e-9);
  check.near("printed arrangement not a number in double, of t = -10, 1000",
             std::isnan(printed_arrangement(-10, 1)) + std::isnan(printed_arrangement(1000, 1)), 2, 0);
  for (const double beta : {-0.1, -0.2})
    check.near(fmt::format("S of 20000 keys, beta = {}", beta),
               sampled_sparsity(check, {beta, 1}, ScoreMap::relu_squared(), 20000, check.effort(20, 200)),
               sparsity_of_relu_squared({beta, 1}), 1e-4);
}

void only_negative_means(Check& check) {
  std::int64_t falls = 0;
  double previous = 0;
  for (const double t : steps(-30, 12, 421)) {
    const double s = by_quadrature(t);
    falls += s < previous * (1 - 1e-9);
    previous = s;
  }
  check.never("steps of t at which S falls, t = -30 ... 12", falls);
  check.near("S at beta = 0", by_quadrature(0), kReluSquaredSparsityAtZero, 1e-9);
  check.near("which is", kReluSquaredSparsityAtZero, 0.408248, 5e-7);
  double least = 1;
  for (const double beta : {0.0, 0.1, 1.0, 10.0})
    for (const double gamma : {0.1, 1.0, 10.0, 1000.0})
      least = std::min(least, sparsity_by_quadrature(relu_squared, {beta, gamma}));
  check.near("least S over beta >= 0", least, kReluSquaredSparsityAtZero, 1e-9);
  const std::pair<double, double> known[] = {{-5, 2.31e-4}, {-10, 1.15e-12}, {-20, 2.15e-45}};
  for (const auto& [t, s] : known)
    check.relative(fmt::format("S at beta = -1, gamma = {}", -1 / t),
                   sparsity_by_quadrature(relu_squared, {-1, -1 / t}), s, 3e-3);
  const double t = -35, phi = std::exp(-t * t / 2) / std::sqrt(2 * std::numbers::pi);
  check.relative("sqrt(phi/(6|t|)) at t = -35", by_quadrature(t), std::sqrt(phi / (-6 * t)), 0.01);
  check.near("S of 20000 keys at t = -2",
             sampled_sparsity(check, {-2, 1}, ScoreMap::relu_squared(), 20000, check.effort(20, 200)),
             sparsity_of_relu_squared({-2, 1}), 1e-3);
}

void wide_scores(Check& check) {
  for (const auto& [beta, quoted] : {std::pair{-1.0, 0.4082481}, {0.0, 0.4082483}, {1.0, 0.4082485}}) {
    const double found = sparsity_by_quadrature(relu_squared, {beta, 1e6});
    check.near(fmt::format("S at beta = {}, gamma = 10^6", beta), found, kReluSquaredSparsityAtZero, 1e-6);
    check.near(fmt::format("to seven digits, beta = {}", beta), found, quoted, 6e-8);
    check.near(fmt::format("S of 20000 keys, beta = {}, gamma = 10^6", beta),
               sampled_sparsity(check, {beta, 1e6}, ScoreMap::relu_squared(), 20000, check.effort(12, 200)),
               kReluSquaredSparsityAtZero, 1e-4);
  }
  const std::vector<double> gammas = steps(0.05, 5, 100), few = steps(0.25, 5, 12);
  report::Plot plot{"S of relu^2 against gamma", "gamma", "S", {}, {}, {}};
  for (const double beta : {-1.0, -0.25, 0.25, 1.0}) {
    report::PlotCurve curve{fmt::format("beta = {}", beta), gammas, {}, report::CurveStyle::formula};
    for (const double gamma : gammas) curve.y.push_back(sparsity_of_relu_squared({beta, gamma}));
    plot.curves.push_back(curve);
  }
  report::PlotCurve sampled{"kernel, beta = -1", few, {}, report::CurveStyle::measured};
  for (const double gamma : few)
    sampled.y.push_back(sampled_sparsity(check, {-1, gamma}, ScoreMap::relu_squared(), 20000, 1).mean);
  plot.curves.push_back(sampled);
  plot.curves.push_back(
      {"1/sqrt 6", {0, 5}, {kReluSquaredSparsityAtZero, kReluSquaredSparsityAtZero}, report::CurveStyle::bound});
  check.plot(plot);
}

// A bias of the keys against the query: q.b = -2.
void key_bias(Check& check) {
  const std::size_t n = 20000, d = 4;
  const std::vector<double> query = {1, 0, 0, 0};
  const Table keys(n, d, check.random().normals(n * d));
  Table biased = keys;
  for (std::size_t r = 0; r < n; ++r) biased(r, 0) -= 2;
  check.near("exp: S with the bias", measure(query, biased, ScoreMap::softmax()).sparsity,
             measure(query, keys, ScoreMap::softmax()).sparsity, 1e-12);
  const auto relu = [&](const Table& table) { return measure(query, table, ScoreMap::relu_squared()).sparsity; };
  check.near("relu^2: S without it", relu(keys), sparsity_of_relu_squared({0, 1}), 0.02);
  check.near("relu^2: S with it", relu(biased), sparsity_of_relu_squared({-2, 1}), 0.02);
}

}  // namespace

std::vector<Claim> relu_squared_claims() {
  return {
      computed("004-6", Verdict::holds,
               "f = relu^2: S of Gaussian scores has a closed form in erf and exp of beta/gamma",
               "S = M_2/sqrt(M_4), M_k the moments of max(t + e, 0); as printed it is not a number in double precision "
               "at t = -10 and t = 1000",
               closed_form_of_relu_squared),
      computed("004-6b", Verdict::holds, "relu^2 attention can become sparse without limit only where beta < 0",
               "S rises with t from 0; over beta >= 0 it is at least 1/sqrt 6. The way to 0 is gamma -> 0 at beta < 0",
               only_negative_means),
      computed("004-6c", Verdict::note, "relu^2 as gamma grows: S tends to 1/sqrt 6 for every beta", "", wide_scores),
      computed("004-6d", Verdict::holds, "A bias of the keys can make relu^2 attention sparser; softmax ignores it", "",
               key_bias)};
}

}  // namespace isentropic::ledger::concentration
