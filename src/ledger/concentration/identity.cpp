// The simplest linear attention, f = identity, over Gaussian keys.
#include <fmt/format.h>

#include <cmath>

#include "experiments/sparsity/measure.hpp"
#include "experiments/tools/estimate.hpp"
#include "ledger/concentration/subjects.hpp"

namespace isentropic::ledger::concentration {
namespace {

using experiments::sparsity::measure;

double same(double x) { return x; }

void closed_form_of_identity(Check& check) {
  double worst = 0;
  for (const double beta : {-3.0, -1.0, -0.3, 0.0, 0.3, 1.0, 3.0})
    for (const double gamma : {0.5, 1.0, 1.5, 2.0, 4.0})
      worst =
          std::max(worst, std::abs(sparsity_by_quadrature(same, {beta, gamma}) - sparsity_of_identity({beta, gamma})));
  check.near("largest error on a grid of beta and gamma", worst, 0, 1e-9);
  for (const double beta : {0.0, 0.6, 1.5})
    check.near(fmt::format("S of 20000 keys, beta = {}", beta),
               sampled_sparsity(check, {beta, 1}, ScoreMap::identity(), 20000, check.effort(12, 200)),
               sparsity_of_identity({beta, 1}), 1e-4);
}

void even(Check& check) {
  double worst = 0;
  const std::vector<double> noise = check.random().normals(5000);
  for (const double beta : {0.3, 1.0, 3.0}) {
    worst = std::max(worst, std::abs(sparsity_of_identity({beta, 0.8}) - sparsity_of_identity({-beta, 0.8})));
    // The same keys, mirrored.
    std::vector<double> plus, minus;
    for (const double e : noise) plus.push_back(beta + 0.8 * e), minus.push_back(-beta - 0.8 * e);
    check.near(fmt::format("S at beta = -{} of mirrored keys", beta), measure(minus, ScoreMap::identity()).sparsity,
               measure(plus, ScoreMap::identity()).sparsity, 1e-14);
  }
  check.near("largest |S(beta) - S(-beta)|", worst, 0, 1e-14);
}

// Gaussian keys, or keys whose length is itself drawn: k = e^{1.5 z} e, S = sqrt(2/pi) e^{-9/8} = .259.
void floor(Check& check) {
  const std::size_t n = 200000;
  const auto sample = [&](double spread) {
    return mean_of(check.effort(3, 20), [&] {
      std::vector<double> keys(n);
      for (double& k : keys)
        k = (spread > 0 ? std::exp(spread * check.random().normal()) : 1) * check.random().normal();
      return measure(keys, ScoreMap::identity()).sparsity;
    });
  };
  const Estimate found = sample(check.choose(0.0, 1.5));
  check.at_least("S at beta = 0", found.mean, kIdentitySparsityFloor, 0.01);
  double least = 1;
  for (const double t : steps(0, 12, 241)) least = std::min(least, sparsity_by_quadrature(same, {t, 1}));
  check.near("least S over t, Gaussian keys", least, kIdentitySparsityFloor, 1e-9);
  check.near("which is", kIdentitySparsityFloor, 0.7978845608, 5e-11);
  // Quoted from one independent sample of 10^6 keys. The relative deviation of its mean square is sqrt(3 e^9 - 1)/1000
  // = 16%, that of S half of that.
  const Estimate spread = sample(1.5);
  check.near("S of keys e^{1.5 z} e, quoted", std::sqrt(2 / std::numbers::pi) * std::exp(-9.0 / 8), 0.261, 0.08);
  check.near("S of keys e^{1.5 z} e", spread, std::sqrt(2 / std::numbers::pi) * std::exp(-9.0 / 8), 0.06);
  check.near("least S over t, closed form", sparsity_of_identity({0, 3}), std::sqrt(2 / std::numbers::pi), 1e-12);
  // Combining two steps cancels the next term, in t^2.
  const auto quartic = [](double t) {
    return (sparsity_by_quadrature(same, {t, 1}) / kIdentitySparsityFloor - 1) / std::pow(t, 4);
  };
  check.near("(S/S0 - 1)/t^4 as t -> 0", (4 * quartic(0.1) - quartic(0.2)) / 3, 0.0833332, 1e-4);
  check.near("S at beta = 1, gamma = 0.001", sparsity_by_quadrature(same, {1, 0.001}), 1, 1e-6);
  check.near("S at beta = 1, gamma = 1000", sparsity_by_quadrature(same, {1, 1000}), kIdentitySparsityFloor, 1e-9);
  // Student's t with 2.1 degrees of freedom, by Bailey's polar formula: its fourth moment is infinite, so S is noisy.
  std::vector<double> heavy(n);
  for (double& k : heavy)
    k = std::sqrt(2.1 * (std::pow(1 - check.random().uniform(), -2 / 2.1) - 1)) *
        std::cos(2 * std::numbers::pi * check.random().uniform());
  const double student = measure(heavy, ScoreMap::identity()).sparsity;
  check.at_most("S of Student t(2.1) keys", student, 0.65);
  check.near("the same, quoted from other draws", student, 0.467, 0.3);
  const std::vector<double> gammas = steps(0.05, 5, 100);
  report::Plot plot{"S of the identity against gamma", "gamma", "S", {}, {}, {}};
  for (const double beta : {0.25, 0.5, 1.0, 2.0}) {
    report::PlotCurve curve{fmt::format("beta = {}", beta), gammas, {}, report::CurveStyle::formula};
    for (const double gamma : gammas) curve.y.push_back(sparsity_of_identity({beta, gamma}));
    plot.curves.push_back(curve);
  }
  plot.curves.push_back(
      {"sqrt(2/pi)", {0, 5}, {kIdentitySparsityFloor, kIdentitySparsityFloor}, report::CurveStyle::bound});
  check.plot(plot);
}

}  // namespace

std::vector<Claim> identity_claims() {
  return {
      computed("004-7", Verdict::holds, "f = identity: S of Gaussian scores in closed form",
               "S = (sqrt(2/pi) e^{-t^2/2} + t erf(t/sqrt 2)) / sqrt(1 + t^2)", closed_form_of_identity),
      computed("004-7b", Verdict::holds, "f = identity: S is even in beta", "", even),
      computed("004-7c", Verdict::holds_if,
               "Linear attention without a feature map cannot be sparse: S has a high floor",
               "if keys are Gaussian: the floor is sqrt(2/pi), at beta = 0 or gamma -> inf; heavy-tailed keys go lower",
               floor)};
}

}  // namespace isentropic::ledger::concentration
