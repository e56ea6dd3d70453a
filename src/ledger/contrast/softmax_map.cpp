// The softmax as a map from scores to probabilities.
#include <algorithm>
#include <numeric>

#include "experiments/tools/kernels.hpp"
#include "isentropic/information/distribution.hpp"
#include "ledger/contrast/losses.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;

// Eight scores, drawn once.
const Vector kScores = {-5.214799195490646, -4.009928379543397,  -4.083320125694961, -1.0548513938352293,
                        -6.93774473909011,  -0.5666915882538234, -2.871687684289038, 2.6808005547899363};
// Five logits of a linear classifier, drawn once: W x + b.
const Table kClassifier = {{-0.4600755630425642, 0.006256656969815882, 0.6869756071293253},
                           {0.02568111708402696, 1.7549707960648842, -0.3940769280901574},
                           {0.6742397660396892, 0.38968648223602903, -0.3872008721687944},
                           {-0.407250020366331, 0.03295396776283038, 1.2612996709838016},
                           {0.5185001622839528, 0.5160583556752704, 1.0199882753460268}};
const Vector kBias = {0.8859640955576921, -0.18787765488873048, 0.8893424688132363, 0.973326128193891,
                      0.4998893998411264};
const Vector kInput = {1.337346664605866, -0.20362220730591826, -1.003351071487752};

Vector logits() {
  Vector out = kBias;
  for (std::size_t c = 0; c < out.size(); ++c) out[c] += dot(kClassifier.row(c), kInput);
  return out;
}

std::vector<std::size_t> order_of(const Vector& x) {
  std::vector<std::size_t> out(x.size());
  std::iota(out.begin(), out.end(), 0);
  std::sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  return out;
}

// A point of the simplex, sometimes near the middle, sometimes near a corner.
Vector simplex_point(Random& random) {
  Vector p = random.probabilities(kScores.size());
  const double sharpness = random.uniform(0.5, 6);
  double sum = 0;
  for (double& x : p) sum += x = std::pow(x, sharpness);
  for (double& x : p) x /= sum;
  return p;
}

void onto_the_simplex(Check& check) {
  const Vector p = weights_of(kScores);
  check.near("sum", std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-12);
  check.at_least("lowest weight: no zeros", *std::min_element(p.begin(), p.end()), 6.2e-5);
  check.near("order kept", order_of(p) == order_of(kScores), 1, 0);
  Vector shifted = kScores;
  for (double& x : shifted) x += 5;
  check.near("change under a common shift", largest_gap(weights_of(shifted), p), 0, 1e-15);
  // Column by column: d p / d z_j = p_j (e_j - p), which sums to 0.
  double error = 0, sum = 0;
  for (std::size_t j = 0; j < p.size(); ++j) {
    const double step = 1e-6;
    Vector above = kScores, below = kScores;
    above[j] += step, below[j] -= step;
    const Vector high = weights_of(above), low = weights_of(below);
    double column = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double slope = (high[i] - low[i]) / (2 * step);
      error = std::max(error, std::abs(slope - p[j] * ((i == j) - p[i])));
      column += slope;
    }
    sum = std::max(sum, std::abs(column));
  }
  check.near("Jacobian by differences less diag(p) - p p^T", error, 0, 1e-8);
  check.near("largest column sum of the Jacobian", sum, 0, 1e-8);
}

// KL(r || e^z) of measures that need not sum to 1: sum_i r_i (log r_i - z_i) - r_i + e^{z_i}.
double divergence_from_exp(const Vector& r, const Vector& z) {
  double sum = 0;
  for (std::size_t i = 0; i < r.size(); ++i) sum += r[i] * (std::log(r[i]) - z[i]) - r[i] + std::exp(z[i]);
  return sum;
}

double squared_distance(const Vector& r, const Vector& z) {
  double sum = 0;
  for (std::size_t i = 0; i < r.size(); ++i) sum += (r[i] - z[i]) * (r[i] - z[i]);
  return sum;
}

void projection(Check& check) {
  const Vector p = weights_of(kScores), sparse = weights_of(kScores, 1, ScoreMap::sparsemax());
  const auto distance = check.choose(&divergence_from_exp, &squared_distance);
  const double log_partition_of_scores = log_partition(record_of(kScores));
  std::int64_t nearer = 0, nearer_than_sparsemax = 0;
  double gap = 0;
  for (std::int64_t t = 0; t < 20'000; ++t) {
    const Vector r = simplex_point(check.random());
    nearer += distance(r, kScores) < distance(p, kScores);
    nearer_than_sparsemax += squared_distance(r, kScores) < squared_distance(sparse, kScores);
    const double miss = log_partition_of_scores - dot(r, kScores) - entropy(r);
    gap = std::max(gap, std::abs(miss - kl_divergence(r, p)));
  }
  check.never("random points of the simplex that lie nearer than softmax(z)", nearer);
  check.near("log-partition - <r, z> - H(r) less KL(r || softmax(z)), largest", gap, 0, 1e-11);
  // A projection leaves points of the simplex unchanged: as a map of e^z the softmax does, as a map of z it does not.
  Vector log_p = p;
  for (double& x : log_p) x = std::log(x);
  check.near("change when softmax(z) is projected again", largest_gap(weights_of(check.choose(log_p, p)), p), 0, 1e-12);
  check.near("change when softmax is applied to its own output", largest_gap(weights_of(p), p), 0.67, 5e-3);
  check.never("random points of the simplex that lie nearer than sparsemax(z), Euclidean", nearer_than_sparsemax);
  check.near("change when sparsemax is applied twice",
             largest_gap(weights_of(sparse, 1, ScoreMap::sparsemax()), sparse), 0, 1e-12);
}

void linear_log_odds(Check& check) {
  const Vector p = weights_of(logits());
  double gap = 0;
  for (std::size_t a = 0; a < 5; ++a)
    for (std::size_t b = 0; b < 5; ++b) {
      double linear = kBias[a] - kBias[b];
      for (std::size_t c = 0; c < 3; ++c) linear += (kClassifier(a, c) - kClassifier(b, c)) * kInput[c];
      gap = std::max(gap, std::abs(std::log(p[a] / p[b]) - linear));
    }
  check.near("log(p_a / p_b) less (w_a - w_b).x + b_a - b_b, largest", gap, 0, 1e-12);
}

Vector layer_normalised(Vector x) {
  const double n = static_cast<double>(x.size());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  double variance = 0;
  for (double v : x) variance += (v - mean) * (v - mean) / n;
  for (double& v : x) v = (v - mean) / std::sqrt(variance);
  return x;
}

void independence_of_the_rest(Check& check) {
  // p_0 / p_1 before and after a fourth option is added.
  const Vector three = {1, 0.5, 0.2}, four = {1, 0.5, 0.2, 0.9};
  const auto ratio = [](const Vector& p) { return p[0] / p[1]; };
  const ScoreMap map = check.choose(ScoreMap::softmax(), ScoreMap::sparsemax());
  check.near("p_0 / p_1 after an option joined over before",
             ratio(weights_of(four, 1, map)) / ratio(weights_of(three, 1, map)), 1, 1e-12);
  const Vector before = logits();
  Vector after = before;
  after[0] += 7;
  after.push_back(4);
  const Vector p = weights_of(before), q = weights_of(after);
  check.near("p_1 / p_3 of five logits", p[1] / p[3], 2.071055, 1e-6);
  check.near("p_1 / p_3 after changing the others", q[1] / q[3], 2.071055, 1e-6);
  // Counterexamples.
  check.near("sparsemax: p_0 / p_1 before", ratio(weights_of(three, 1, ScoreMap::sparsemax())), 3, 1e-9);
  check.near("sparsemax: p_0 / p_1 after", ratio(weights_of(four, 1, ScoreMap::sparsemax())), 16, 1e-9);
  check.near("top 2: p_1 after", weights_of(four, 1, ScoreMap::top_k(2))[1], 0, 0);
  after.pop_back();
  const Vector normal = weights_of(layer_normalised(before)), moved = weights_of(layer_normalised(after));
  check.near("layer-normalised logits: log(p_1 / p_3) before", std::log(normal[1] / normal[3]), 0.714, 5e-4);
  check.near("layer-normalised logits: log(p_1 / p_3) after", std::log(moved[1] / moved[3]), 0.270, 5e-4);
}

}  // namespace

std::vector<Claim> softmax_map_claims() {
  return {
      computed("002-4.4.19a", Verdict::holds, "The softmax maps scores to the simplex and keeps their order",
               "to its inside: no zeros; a common shift changes nothing; Jacobian diag(p) - p p^T", onto_the_simplex),
      computed("002-4.4.19b", Verdict::holds_if, "The softmax is a projection onto the simplex",
               "in the sense of the divergence: softmax(z) is the point of least KL(p || e^z), that is of largest "
               "<p, z> + H(p); the nearest point in the Euclidean sense is sparsemax",
               projection),
      computed("002-4.4.20a", Verdict::holds, "The log-odds of two classes are linear in the input", "",
               linear_log_odds),
      computed("002-4.4.20b", Verdict::holds_if, "The ratio of two options does not depend on the others",
               "full softmax, and each score depends on its own option alone", independence_of_the_rest),
  };
}

}  // namespace isentropic::ledger::contrast
