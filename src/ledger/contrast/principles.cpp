// Principles read into losses and attention: divergences, likelihoods, similarity.
#include <algorithm>
#include <functional>
#include <numbers>
#include <numeric>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/information/distribution.hpp"
#include "ledger/contrast/losses.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;

void cross_entropy_and_divergence(Check& check) {
  const Vector logits = check.random().normals(7), target = check.random().probabilities(7);
  const double divergence = kl_divergence(target, weights_of(logits));
  check.near("cross-entropy", cross_entropy(target, logits), check.choose(divergence + entropy(target), divergence),
             1e-12);
  const Vector slopes = numeric_gradient(logits, [&](const Vector& z) { return kl_divergence(target, weights_of(z)); });
  check.near("gradient less that of the divergence",
             largest_gap(gradients_of(classes(logits), target).key.values, slopes), 0, 1e-8);
}

// argmin over the simplex of KL(p || uniform) - gain <p, s>, by mirror descent.
Vector least_divergence(const Vector& scores, double gain) {
  Vector p(scores.size(), 1 / static_cast<double>(scores.size()));
  for (int step = 0; step < 200; ++step) {
    double sum = 0;
    for (std::size_t j = 0; j < p.size(); ++j)
      sum += p[j] = p[j] * std::exp(-0.5 * (std::log(p[j]) - gain * scores[j]));
    for (double& x : p) x /= sum;
  }
  return p;
}

void attention_and_divergence(Check& check) {
  const Vector scores = check.random().normals(8);
  const Vector row = weights_of(scores);
  check.near("row of attention less the argmin", largest_gap(row, least_divergence(scores, check.choose(1.0, 0.0))), 0,
             1e-12);
  // The excess of any other row r is KL(r || A).
  const Vector r = check.random().probabilities(8), uniform(8, 1.0 / 8);
  const auto objective = [&](const Vector& p) { return kl_divergence(p, uniform) - dot(p, scores); };
  check.near("excess of another row less KL(r || A)", objective(r) - objective(row) - kl_divergence(r, row), 0, 1e-12);
}

void sigmoid_does_not_normalise(Check& check) {
  // Six scores, drawn once.
  const Vector scores = {0.9006781613728286,  -1.7795624925233715, 0.3826187785147733,
                         -0.3082421259234072, 1.8615906968365534,  -0.35936084713059613};
  const Vector weights = weights_of(scores, 1, ScoreMap::sigmoid());
  check.near("sum of six sigmoid weights", std::accumulate(weights.begin(), weights.end(), 0.0), 3.15, 5e-3);
  check.between("largest", *std::max_element(weights.begin(), weights.end()), 0, 1);
}

// Rank of a matrix: counts pivots above a fraction of the largest entry.
int rank_of(Table a) {
  double largest = 0;
  for (double x : a.values) largest = std::max(largest, std::abs(x));
  int rank = 0;
  for (std::size_t column = 0, row = 0; column < a.columns && row < a.rows; ++column) {
    std::size_t pivot = row;
    for (std::size_t i = row; i < a.rows; ++i)
      if (std::abs(a(i, column)) > std::abs(a(pivot, column))) pivot = i;
    if (std::abs(a(pivot, column)) < 1e-9 * largest) continue;
    for (std::size_t j = 0; j < a.columns; ++j) std::swap(a(row, j), a(pivot, j));
    for (std::size_t i = row + 1; i < a.rows; ++i) {
      const double factor = a(i, column) / a(row, column);
      for (std::size_t j = column; j < a.columns; ++j) a(i, j) -= factor * a(row, j);
    }
    ++row, ++rank;
  }
  return rank;
}

void width_of_a_head(Check& check) {
  // Sixteen positions, d_model = 12, three heads: the scores of one head, from the kernel's weights.
  const std::size_t n = 16, d_model = 12, d_k = 4;
  const Table x(n, d_model, check.random().normals(n * d_model));
  Table q(n, d_k), k(n, d_k);
  for (Table* projected : {&q, &k}) {
    const Table w(d_model, d_k, check.random().normals(d_model * d_k, 0.3));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t c = 0; c < d_k; ++c)
        for (std::size_t e = 0; e < d_model; ++e) (*projected)(i, c) += x(i, e) * w(e, c);
  }
  const Table weights = weights_of(q, k);
  Table scores(n, n - 1);  // up to a term per row, which the difference removes
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 1; j < n; ++j) scores(i, j - 1) = std::log(weights(i, j) / weights(i, 0));
  check.near("rank of a head's scores, d_model = 12, three heads", rank_of(scores), d_k, 0);
}

void dot_product_and_cosine(Check& check) {
  const Table q(1, 8, check.random().normals(8)), k(5, 8, check.random().normals(40));
  const Vector weights = weights_of(q, k).values;
  double gap = 0;
  for (std::size_t j = 1; j < 5; ++j) {
    const auto score = [&](std::size_t key) {
      return norm(q.row(0)) * norm(k.row(key)) * cosine(q.row(0), k.row(key));
    };
    gap = std::max(gap, std::abs(std::log(weights[j] / weights[0]) - (score(j) - score(0)) / std::sqrt(8)));
  }
  check.near("log of weight ratios less |q| |k| cos / sqrt(d)", gap, 0, 1e-12);
}

// The argmin of a convex function of one variable.
double argmin(const std::function<double(double)>& f, double low, double high) {
  for (int step = 0; step < 100; ++step) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    (f(a) < f(b) ? high : low) = f(a) < f(b) ? b : a;
  }
  return (low + high) / 2;
}

void squared_error_and_gaussian(Check& check) {
  const bool common = check.choose(true, false);
  Vector y, sigma;
  for (std::size_t i = 0; i < 1000; ++i) {
    sigma.push_back(common ? 0.7 : i % 2 ? 0.1 : 3.0);
    y.push_back(1 + sigma.back() * check.random().normal());
  }
  const auto squared = [&](double mean) {
    double sum = 0;
    for (double v : y) sum += (v - mean) * (v - mean);
    return sum / 1000;
  };
  const auto likelihood = [&](double mean) {
    double sum = 0;
    for (std::size_t i = 0; i < 1000; ++i) {
      const double z = (y[i] - mean) / sigma[i];
      sum -= std::log(std::exp(-z * z / 2) / (sigma[i] * std::sqrt(2 * std::numbers::pi)));
    }
    return sum / 1000;
  };
  check.near("argmin of the likelihood less that of the squared error",
             argmin(likelihood, 0.5, 1.5) - argmin(squared, 0.5, 1.5), 0, 1e-5);
  // Deviations alternate between 0.1 and 3: where the two minima of a sample lie.
  Mean of_squares, of_likelihood;
  for (std::int64_t t = 0; t < check.effort(1000, 4000); ++t) {
    double sum = 0, weighted = 0, weights = 0;
    for (std::size_t i = 0; i < 1000; ++i) {
      const double s = i % 2 ? 0.1 : 3.0, value = 1 + s * check.random().normal();
      sum += value, weighted += value / (s * s), weights += 1 / (s * s);
    }
    of_squares.add(sum / 1000), of_likelihood.add(weighted / weights);
  }
  check.as_quoted("unequal variances: argmin of the squared error, quoted from one sample", of_squares, 1.082, 1);
  check.as_quoted("unequal variances: argmin of the likelihood, quoted from one sample", of_likelihood, 0.998, 1);
  check.near("spread of the first over that of the second", of_squares.deviation() / of_likelihood.deviation(),
             std::sqrt((9 + 0.01) / 2 / 1000) / std::sqrt(1 / (500 / 0.01 + 500.0 / 9)), 2.4);
  if (common)
    check.near("negative log-likelihood less MSE / (2 s^2) + log(2 pi s^2) / 2",
               likelihood(0.9) - squared(0.9) / (2 * 0.49) - 0.5 * std::log(2 * std::numbers::pi * 0.49), 0, 1e-12);
}

void likelihood_of_the_index(Check& check) {
  const Vector logits = check.random().normals(6), target = check.random().probabilities(6);
  const Vector losses = losses_of(classes(logits));
  // Indices drawn from the target: their mean negative log-likelihood is the cross-entropy.
  const Estimate mean = mean_of(check.effort(50'000, 500'000), [&] {
    double u = check.random().uniform();
    std::size_t j = 0;
    while (j + 1 < 6 && u >= target[j]) u -= target[j++];
    return -std::log(softmax_by_hand(logits)[j]);
  });
  check.near("mean -log p of drawn classes", mean, cross_entropy(target, logits));
  const Table keys(6, 1, logits);
  check.near("InfoNCE of candidate 0 less its -log p", losses_of(one_anchor(Vector{1}, keys, 1))[0] - losses[0], 0,
             1e-12);
}

void every_loss_a_likelihood(Check& check) {
  const auto hinge = [](double margin) { return std::max(0.0, 1 - margin); };
  // Two classes with scores f and 0, through the library's softmax loss.
  const auto logistic = [](double margin) { return losses_of(classes({margin, 0}))[0]; };
  double low = 10, high = 0, hinge_low = 10, hinge_high = 0;
  report::PlotCurve curves[] = {{"logistic", {}, {}}, {"hinge", {}, {}}};
  for (int step = 0; step <= 60; ++step) {
    const double f = -3 + 0.1 * step;
    const double of_logistic = std::exp(-logistic(f)) + std::exp(-logistic(-f));
    const double of_hinge = std::exp(-hinge(f)) + std::exp(-hinge(-f));
    const double chosen = check.choose(of_logistic, of_hinge);
    low = std::min(low, chosen), high = std::max(high, chosen);
    hinge_low = std::min(hinge_low, of_hinge), hinge_high = std::max(hinge_high, of_hinge);
    curves[0].x.push_back(f), curves[0].y.push_back(of_logistic);
    curves[1].x.push_back(f), curves[1].y.push_back(of_hinge);
  }
  check.near("largest less smallest e^-loss(+) + e^-loss(-) over the score", high - low, 0, 1e-12);
  check.near("that sum where it is largest", high, 1, 1e-12);
  check.near("hinge: smallest", hinge_low, 0.736, 5e-4);
  check.near("hinge: largest", hinge_high, 1.135, 5e-4);
  check.plot({"Does e^-loss sum to one over the two classes?",
              "score",
              "sum",
              report::PlotScale::linear,
              report::PlotScale::linear,
              {curves[0], curves[1]}});
}

void shared_jacobian(Check& check) {
  double attention_gap = 0, contrast_gap = 0;
  for (int t = 0; t < 20; ++t) {
    const Vector scores = check.random().normals(6), upstream = check.random().normals(4), a = weights_of(scores);
    const Table values(6, 4, check.random().normals(24));
    // (diag(a) - a a^T) g
    const auto through = [&](const Vector& g) {
      Vector out;
      for (std::size_t j = 0; j < 6; ++j) out.push_back(a[j] * (g[j] - dot(a, g)));
      return out;
    };
    Vector from_values, from_loss(6, 0.0), less_label = a;
    for (std::size_t j = 0; j < 6; ++j) from_values.push_back(dot(values.row(j), upstream));
    from_loss[0] = -1 / a[0];  // d(-log a_0) / da
    less_label[0] -= 1;
    const Vector measured = attention_score_gradient(scores, values, upstream);
    attention_gap = std::max(attention_gap, largest_gap(measured, check.choose(through(from_values), less_label)));
    Vector label(6, 0.0);
    label[0] = 1;
    contrast_gap =
        std::max(contrast_gap, largest_gap(gradients_of(classes(scores), label).key.values, through(from_loss)));
  }
  check.near("attention: dL/ds less the form", attention_gap, 0, 1e-12);
  check.near("InfoNCE: dL/ds less the Jacobian times dL/da", contrast_gap, 0, 1e-12);
}

}  // namespace

std::vector<Claim> principle_claims() {
  return {
      computed("002-4.4.5a", Verdict::corrected, "Softmax with cross-entropy approximates a divergence",
               "exactly KL + H(p), and H(p) does not depend on the parameters", cross_entropy_and_divergence),
      computed("002-4.4.5b", Verdict::holds_if, "Attention implicitly minimises a divergence",
               "KL(p || uniform) - <p, s>, the scores included; no law of data enters", attention_and_divergence),
      computed("002-4.4.5c", Verdict::slip, "The sigmoid is named as another way to normalise",
               "it maps each score to (0, 1) and normalises nothing", sigmoid_does_not_normalise),
      computed("002-4.4.5d", Verdict::view, "Queries and keys are projected to a space of high dimension",
               "high, and yet usually lower than the model's: d_k = d_model / heads, the rank of a head's scores",
               width_of_a_head),
      computed("002-4.4.5e", Verdict::holds, "The dot product is a cosine without normalisation", "q.k = |q| |k| cos",
               dot_product_and_cosine),
      computed("002-4.4.5f", Verdict::holds_if, "Squared error is a Gaussian likelihood",
               "one fixed variance: NLL = MSE / (2 s^2) + log(2 pi s^2) / 2", squared_error_and_gaussian),
      computed("002-4.4.5g", Verdict::holds,
               "Cross-entropy is a categorical likelihood, InfoNCE a likelihood over the candidates", "",
               likelihood_of_the_index),
      computed("002-4.4.5h", Verdict::corrected, "Every loss optimises a quantity of information",
               "not all are likelihoods: of the hinge e^-loss(+) + e^-loss(-) is not constant",
               every_loss_a_likelihood),
      listed("002-4.4.5i", Verdict::view, "Classification, contrast and attention all set right against wrong",
             "attention has no label"),
      computed("002-4.4.6", Verdict::holds_if, "The gradients of InfoNCE and of attention have the same form",
               "they share the Jacobian diag(a) - a a^T; P - e_+ needs a likelihood on top", shared_jacobian),
  };
}

}  // namespace isentropic::ledger::contrast
