// InfoNCE as a loss: one positive among N candidates.
#include <algorithm>
#include <numeric>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/information/critic_bounds.hpp"
#include "isentropic/information/distribution.hpp"
#include "ledger/contrast/losses.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;

// The definition, row by row: -log(e^{s_+} / sum_j e^{s_j}), s_j = q.k_j / tau.
double loss_by_hand(std::span<const double> query, const Table& keys, std::size_t positive, double temperature) {
  Vector scores;
  for (std::size_t j = 0; j < keys.rows; ++j) scores.push_back(dot(query, keys.row(j)) / temperature);
  return -std::log(softmax_by_hand(scores)[positive]);
}

Contrast random_contrast(Random& random, std::size_t rows, std::size_t keys, std::size_t d, double temperature) {
  Contrast out{Table(rows, d, random.normals(rows * d)), Table(keys, d, random.normals(keys * d)), {}, temperature};
  for (std::size_t i = 0; i < rows; ++i) out.target.push_back(random.integer(0, static_cast<std::int64_t>(keys) - 1));
  return out;
}

void loss_is_defined(Check& check) {
  for (double temperature : {0.1, 0.5, 2.0}) {
    const Contrast contrast = random_contrast(check.random(), 5, 9, 4, temperature);
    Vector by_hand;
    for (std::size_t i = 0; i < 5; ++i)
      by_hand.push_back(
          loss_by_hand(contrast.query.row(i), contrast.key, static_cast<std::size_t>(contrast.target[i]), temperature));
    check.near("largest error at tau = " + short_text(temperature), largest_gap(losses_of(contrast), by_hand), 0,
               1e-10);
  }
}

// An anchor (key 0), its positive (key 1) in the same place, and N - 2 negatives opposite: the lowest possible loss.
void self_is_no_candidate(Check& check) {
  const std::size_t n = 16;
  Contrast contrast{Table(n, 2), {}, std::vector<std::int64_t>(n, 1)};
  contrast.target[1] = 0;
  for (std::size_t i = 0; i < n; ++i) contrast.query(i, 0) = i < 2 ? 1 : -1;
  contrast.key = contrast.query;
  const std::vector<std::pair<double, std::pair<double, double>>> quoted = {
      {0.07, {0.0000, 0.6931}}, {0.2, {0.0006, 0.6935}}, {1.0, {1.0629, 1.3596}}};
  for (const auto& [temperature, losses] : quoted) {
    contrast.temperature = temperature;
    const std::string at = " at tau = " + short_text(temperature);
    const double excluded = losses_of(contrast, Self::excluded)[0], seen = losses_of(contrast)[0];
    // n - 1 candidates remain, so the cosine critic's ceiling is that for n - 1.
    check.near("lowest loss without the anchor" + at, excluded,
               std::log(n - 1.0) - cosine_critic_ceiling(n - 1, temperature), 1e-10);
    check.near("quoted" + at, excluded, losses.first, 6e-5);
    check.near("lowest loss with the anchor among the candidates" + at, seen, losses.second, 6e-5);
    check.at_least("which cannot fall below log 2" + at, seen, std::log(2));
  }
}

void temperature_sharpens(Check& check) {
  const Table scores(1, 32, check.random().normals(32));
  report::PlotCurve entropy_curve{"entropy", {}, {}};
  double previous = -1;
  std::int64_t falls = 0;
  for (double temperature = 0.02; temperature < 60; temperature *= 1.3) {
    const double h = entropy(records_of(scores, 1 / temperature)[0]);
    falls += h <= previous;
    previous = h;
    entropy_curve.x.push_back(temperature), entropy_curve.y.push_back(h);
  }
  check.never("entropy falls as tau rises", falls);
  check.near("entropy at tau = 0.001", entropy(records_of(scores, 1000)[0]), 0, 0.05);
  check.near("entropy at tau = 10000", entropy(records_of(scores, 1e-4)[0]), std::log(32), 1e-6);
  check.plot({"Entropy of 32 candidates against the temperature",
              "tau",
              "nats",
              report::PlotScale::log,
              report::PlotScale::linear,
              {entropy_curve}});
}

void index_of_the_candidate(Check& check) {
  Random& random = check.random();
  const Table query(6, 4, random.normals(24)), key(6, 4, random.normals(24));
  const Table weights = weights_of(query, key);
  double over_candidates = 0, over_anchors = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    double row = 0, column = 0;
    for (std::size_t j = 0; j < 6; ++j) row += weights(i, j), column += weights(j, i);
    over_candidates = std::max(over_candidates, std::abs(row - 1));
    over_anchors = std::max(over_anchors, std::abs(column - 1));
  }
  check.near("sum over the candidates less 1", over_candidates, 0, 1e-12);
  check.at_least("sum over the anchors less 1, largest", over_anchors, 0.01);
}

void loss_is_cross_entropy(Check& check) {
  Contrast contrast = random_contrast(check.random(), 1, 9, 4, 0.5);
  // One row per candidate as the positive: the losses are the categorical negative log-likelihoods of the index.
  const Table query = contrast.query;
  contrast.query = Table(9, 4);
  contrast.target.resize(9);
  std::iota(contrast.target.begin(), contrast.target.end(), 0);
  for (std::size_t i = 0; i < 9; ++i)
    for (std::size_t c = 0; c < 4; ++c) contrast.query(i, c) = query(0, c);
  AttentionProblem options;
  options.scale = Scale::constant(1 / contrast.temperature);
  const Vector losses = losses_of(contrast), weights = weights_of(query, contrast.key, options).values;
  Vector likelihood;
  for (double p : weights) likelihood.push_back(-std::log(p));
  check.near("loss less -log of the candidate's weight", largest_gap(losses, likelihood), 0, 1e-12);
  // Cross-entropy of any index distribution t with the softmax: H(t) + KL(t || P), lowest at P = t.
  const Vector t = check.random().probabilities(9);
  check.near("mean loss less H(t) - KL(t || P)", dot(t, losses) - entropy(t) - kl_divergence(t, weights), 0, 1e-12);
}

void information_is_a_divergence(Check& check) {
  double largest = 0, lowest = 1;
  for (int t = 0; t < 200; ++t) {
    const Table joint(3, 4, check.random().probabilities(12));
    Vector product;
    for (double p : row_marginal(joint))
      for (double q : column_marginal(joint)) product.push_back(p * q);
    const double divergence = kl_divergence(joint.values, product);
    const double entropies = entropy(row_marginal(joint)) + entropy(column_marginal(joint)) - entropy(joint.values);
    largest = std::max({largest, std::abs(mutual_information(joint) - divergence), std::abs(divergence - entropies)});
    lowest = std::min(lowest, divergence);
  }
  check.near("200 joints: information, divergence and entropies differ by", largest, 0, 1e-12);
  check.at_least("200 joints: lowest", lowest, 0);
  // Correlated normal pairs: -log(1 - rho^2) / 2, here as the mean of the pointwise information over draws.
  const double rho = 0.8;
  const Estimate mean = mean_of(check.effort(100'000, 1'000'000), [&] {
    const double x = check.random().normal(), y = rho * x + std::sqrt(1 - rho * rho) * check.random().normal();
    return -0.5 * std::log(1 - rho * rho) - (y - rho * x) * (y - rho * x) / (2 * (1 - rho * rho)) + y * y / 2;
  });
  check.near("normal pairs of rho = 0.8", mean, 0.510826);
}

}  // namespace

std::vector<Claim> info_nce_claims() {
  return {
      computed("002-4.4.3a", Verdict::holds,
               "InfoNCE is -log of the positive's share in sum_j e^{s_j / tau} over positive and negatives", "",
               loss_is_defined),
      computed("002-4.4.3b", Verdict::slip, "The negatives are indexed k != i, from 1 to N",
               "the anchor is no candidate: with its own key in the sum the loss of unit vectors stays above log 2",
               self_is_no_candidate),
      computed("002-4.4.3c", Verdict::holds, "The temperature sets how sharp the softmax is", "", temperature_sharpens),
      computed("002-4.4.4", Verdict::slip, "The probability of a candidate is written P(c = i | q)",
               "P(c = j | q): it sums to one over the candidates j", index_of_the_candidate),
      computed("002-4.4.5/6", Verdict::holds,
               "InfoNCE is the cross-entropy of a softmax whose class is the positive: maximum likelihood",
               "the likelihood is that of the index, given the candidates", loss_is_cross_entropy),
      computed("002-4.4.7", Verdict::holds,
               "I(X;Y) is the divergence of the joint law from the product of its marginals", "",
               information_is_a_divergence),
  };
}

}  // namespace isentropic::ledger::contrast
