// Noise-contrastive estimation: its posterior, its loss, and many noise draws.
#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/information/distribution.hpp"
#include "isentropic/theory/contrast.hpp"
#include "ledger/contrast/nce_kernel.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;

void posterior(Check& check) {
  const Vector data = {0.5, 0.3, 0.2}, noise = {0.2, 0.2, 0.6};
  const Vector quoted = {0.3338, 0.2317, 0.0622};
  const double k = 5, prior = check.choose(1 / (1 + k), 0.5);
  const auto draw = [&](const Vector& law) {
    const double u = check.random().uniform();
    return u < law[0] ? 0u : u < law[0] + law[1] ? 1u : 2u;
  };
  std::vector<Mean> is_datum(3);
  for (std::int64_t t = 0; t < check.effort(2'000'000, 10'000'000); ++t) {
    const bool datum = check.random().uniform() < prior;
    is_datum[draw(datum ? data : noise)].add(datum ? 1 : 0);
  }
  // The other condition: p is the distribution of the data.
  const Vector model = check.choose(data, Vector{0.2, 0.3, 0.5});
  for (std::size_t x = 0; x < 3; ++x) {
    const std::string at = "share of data at x = " + std::to_string(x);
    check.near(at, is_datum[x].estimate(), nce_posterior(model[x], noise[x], k));
    // Quoted from two million draws.
    check.as_quoted(at + ", quoted", is_datum[x].estimate(), quoted[x],
                    std::sqrt(quoted[x] / 2e6 / (data[x] / 6 + noise[x] * 5 / 6)));
  }
  // The same as a softmax over two candidates.
  const Vector weights = weights_of(Vector{std::log(data[2]), std::log(k * noise[2])});
  check.near("softmax of log p, log(k n) at x = 2", weights[0], 0.0625, 1e-12);
}

void binary_cross_entropy(Check& check) {
  const Vector model = softmax_by_hand(kNceModelScores);
  for (double k : {1.0, 10.0, 1000.0}) {
    const std::string at = " at k = " + std::to_string(static_cast<int>(k));
    const NceKernel kernel = nce_kernel(kNceData, model, kNceNoise, k);
    check.near("loss" + at, measured_loss(kernel), nce_loss(kNceData, model, kNceNoise, k), 1e-11);
    const Vector gradient = nce_gradient(kNceData, model, kNceNoise, k);
    check.near("gradient" + at + ", largest error", largest_gap(measured_gradient(kernel), gradient), 0, 1e-11);
    const Vector slopes = numeric_gradient(Vector(6, 0.0), [&](const Vector& step) {
      Vector moved = model;
      for (std::size_t x = 0; x < 6; ++x) moved[x] *= std::exp(step[x]);
      return measured_loss(nce_kernel(kNceData, moved, kNceNoise, k));
    });
    check.near("central differences" + at + ", largest error", largest_gap(slopes, gradient), 0, 1e-7);
  }
}

void many_noise_draws(Check& check) {
  const Vector model = softmax_by_hand(kNceModelScores);
  const NceExpansion expansion = nce_expansion(kNceData, model, kNceNoise);
  const double divergence = kl_divergence(kNceData, model);
  const std::vector<double> ks = {1, 10, 100, 1000, 1e4, 1e6}, quoted = {0.22, 0.013, 8.8e-4, 8.2e-5, 8.2e-6, 8.1e-8},
                            last_digit = {0.01, 0.001, 1e-5, 1e-6, 1e-7, 1e-9},
                            gaps = {0.475, 0.136, 0.0169, 1.7e-3, 1.7e-4, 1.7e-6},
                            gap_digit = {0.001, 0.001, 1e-4, 1e-4, 1e-5, 1e-7};
  report::PlotCurve measured{"loss", {}, {}}, limit{"log k + 1 + KL(d||p) - KL(d||n)", {}, {}},
      printed{"KL(d||p), as printed", {}, {}};
  limit.style = printed.style = report::CurveStyle::formula;
  for (std::size_t x = 0; x < ks.size(); ++x) {
    const double k = ks[x], loss = measured_loss(nce_kernel(kNceData, model, kNceNoise, k));
    const double limiting = std::log(k) + expansion.constant;
    const std::string at = " at k = " + std::to_string(static_cast<int>(k));
    const double rest = loss - check.choose(limiting, divergence);
    check.near("loss less its limiting form" + at, rest, quoted[x], last_digit[x] / 2 * 1.01);
    if (k >= 1000) check.relative("k times that" + at, rest * k, expansion.first_order, 0.02);
    measured.x.push_back(k), measured.y.push_back(loss);
    limit.x.push_back(k), limit.y.push_back(limiting);
    printed.x.push_back(k), printed.y.push_back(divergence);
    // On the scores of a normalised model NCE's gradient tends to that of the likelihood, p - d, as 1/k.
    const Vector free = measured_gradient(nce_kernel(kNceData, model, kNceNoise, k));
    double sum = 0;
    for (double g : free) sum += g;
    Vector gradient, likelihood;
    for (std::size_t i = 0; i < 6; ++i) {
      gradient.push_back(free[i] - model[i] * sum);
      likelihood.push_back(model[i] - kNceData[i]);
    }
    check.near("relative gap of the gradient" + at, relative_gap(gradient, likelihood, 0), gaps[x],
               gap_digit[x] / 2 * 1.01);
    if (k >= 100)
      check.between("k times the gradient's gap" + at, k * relative_gap(gradient, likelihood, 0), 1.68, 1.75);
  }
  check.near("loss at k = 1", measured.y.front(), 1.67, 5e-3);
  check.near("loss at k = 1000000", measured.y.back(), 15.26, 5e-3);
  check.plot({"NCE's loss grows like log k",
              "k",
              "nats",
              report::PlotScale::log,
              report::PlotScale::linear,
              {measured, limit, printed}});
}

}  // namespace

std::vector<Claim> noise_contrast_claims() {
  return {
      computed("002-4.4.1", Verdict::holds_if, "The posterior of being a datum at x is p(x) / (p(x) + k n(x))",
               "prior odds 1 : k, and p is the law of the data", posterior),
      computed("002-4.4.2", Verdict::holds, "NCE's loss is a binary cross-entropy with weight k on the noise", "",
               binary_cross_entropy),
      computed("002-4.4.2a", Verdict::holds_if, "For k -> inf minimising NCE is minimising KL(data || model)",
               "as to gradients (gap of order 1/k); the loss itself is log k + 1 + KL(d||p) - KL(d||n) + O(1/k)",
               many_noise_draws),
  };
}

}  // namespace isentropic::ledger::contrast
