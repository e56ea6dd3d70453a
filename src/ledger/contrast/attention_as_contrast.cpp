// From InfoNCE to attention: what a row of weights is, and what it is not.
#include <algorithm>
#include <limits>
#include <numeric>

#include "experiments/tools/kernels.hpp"
#include "ledger/contrast/losses.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;

// A query and six keys of four coordinates, drawn once; tau = sqrt(4).
const Vector kQuery = {-0.9812094988027172, 0.6252963266283803, 0.15080556949451646, -0.22085971702992835};
const Table kKeys = {{-1.1252005246747225, -1.5672994194441243, -0.02382628497460804, 0.11655889672638506},
                     {-1.2753171970366939, -0.4770873222295625, -0.32418758441817463, -0.2628250778274324},
                     {1.044787039185501, -0.42641912157683304, 0.6905305423403757, -1.3998717275087},
                     {-0.4916124610572339, -0.26430787896281144, 1.6658281809106454, 1.5987913824551123},
                     {-1.2438598967869776, 0.6516235618367852, 0.8335588504746856, -1.9674742396651526},
                     {-0.44794249510125894, -1.3360601404503012, -0.24931308218892745, -0.5432922217091384}};
constexpr double kTemperature = 2;

Vector row_of_weights(const Table& keys) { return weights_of(Table(1, 4, kQuery), keys).values; }

void loss_of_a_position(Check& check) {
  const Table x(7, 4, check.random().normals(28));
  Contrast contrast{x, x, {1, 2, 3, 4, 5, 6, 0}, kTemperature};
  const Table weights = weights_of(x, x);
  double seen = 0, excluded = 0;
  const Vector with_self = losses_of(contrast), without = losses_of(contrast, Self::excluded);
  for (std::size_t i = 0; i < 7; ++i) {
    const double a = weights(i, (i + 1) % 7);
    seen = std::max(seen, std::abs(with_self[i] + std::log(a)));
    excluded = std::max(excluded, std::abs(without[i] + std::log(a / (1 - weights(i, i)))));
  }
  check.near("-log of the weight, the position itself among the candidates", seen, 0, 1e-12);
  check.near("-log of the weight given another position", excluded, 0, 1e-12);
}

void mean_under_the_weights(Check& check) {
  const Table values(6, 3, check.random().normals(18));
  const Vector output = table_of(attend(Table(1, 4, kQuery), kKeys, values).output).values,
               weights = row_of_weights(kKeys);
  Vector mean(3, 0.0);
  for (std::size_t j = 0; j < 6; ++j)
    for (std::size_t c = 0; c < 3; ++c) mean[c] += weights[j] * values(j, c);
  check.near("output less sum_j a_j v_j", largest_gap(output, mean), 0, 1e-13);
}

// Bayes: key j emits the query with density N(k_j, tau I), under a uniform prior over keys.
Vector posterior_of(const Table& keys) {
  Vector logs;
  for (std::size_t j = 0; j < keys.rows; ++j) {
    double square = 0;
    for (std::size_t c = 0; c < 4; ++c) square += (kQuery[c] - keys(j, c)) * (kQuery[c] - keys(j, c));
    logs.push_back(-square / (2 * kTemperature));
  }
  return softmax_by_hand(logs);
}

void probability_of_the_positive(Check& check) {
  Table equal = kKeys;
  normalise_rows(&equal);
  const Table& keys = check.choose(equal, kKeys);
  check.near("weights less the posterior over which key emitted q",
             largest_gap(row_of_weights(keys), posterior_of(keys)), 0, 1e-12);
  check.near("keys of unequal length: largest gap", largest_gap(row_of_weights(kKeys), posterior_of(kKeys)), 0.165,
             5e-4);
  Table bias(1, 6);
  for (std::size_t j = 0; j < 6; ++j) bias(0, j) = -dot(kKeys.row(j), kKeys.row(j)) / (2 * kTemperature);
  AttentionProblem options;
  options.bias = Bias::dense(view_of(bias));
  check.near("the same with the bias -|k|^2 / (2 tau)",
             largest_gap(weights_of(Table(1, 4, kQuery), kKeys, options).values, posterior_of(kKeys)), 0, 1e-12);
}

void soft_contrast(Check& check) {
  // The target implied by a gradient dL/ds = A - T. With a loss -sum T log A it is T; attention alone has no target:
  // its gradient A (g - <A, g>) implies negative "probabilities".
  double lowest = std::numeric_limits<double>::infinity(), recovered = 0;
  for (int t = 0; t < 50; ++t) {
    Vector logits;
    for (std::size_t j = 0; j < 6; ++j) logits.push_back(dot(kQuery, kKeys.row(j)) / kTemperature);
    const Vector target = check.random().probabilities(6), weights = weights_of(logits);
    const Vector with_target = gradients_of(classes(logits), target).key.values;
    const Table values(6, 4, check.random().normals(24));
    const Vector without = attention_score_gradient(logits, values, check.random().normals(4));
    const Vector& gradient = check.choose(with_target, without);
    for (std::size_t j = 0; j < 6; ++j) {
      lowest = std::min(lowest, weights[j] - gradient[j]);
      recovered = std::max(recovered, std::abs(weights[j] - with_target[j] - target[j]));
    }
  }
  check.at_least("lowest entry of the implied target A - dL/ds, 50 draws", lowest, 0, 1e-12);
  check.near("implied target less T, where T is given", recovered, 0, 1e-12);

  // The exact bridge: attention(q, K, K) = grad_q of tau log-sum-exp = k_+ + tau dL/dq.
  const Vector output = table_of(attend(Table(1, 4, kQuery), kKeys, kKeys).output).values;
  const Vector slopes = numeric_gradient(kQuery, [&](const Vector& q) {
    const Contrast contrast = one_anchor(q, kKeys, kTemperature);
    return kTemperature * (losses_of(contrast)[0] + dot(q, kKeys.row(0)) / kTemperature);
  });
  check.near("attention(q, K, K) less the gradient of tau log-sum-exp", largest_gap(output, slopes), 0, 1e-7);
  Vector moved = times(kTemperature, gradients_of(one_anchor(kQuery, kKeys, kTemperature)).query.values);
  for (std::size_t c = 0; c < 4; ++c) moved[c] += kKeys(0, c);
  check.near("attention(q, K, K) less k_+ + tau dL/dq", largest_gap(output, moved), 0, 1e-12);
}

void count_of_negatives(Check& check) {
  // A row that identifies its positive with certainty reaches the log of its number of candidates: finite, but without
  // a limit as the sequence grows.
  for (const std::size_t n : {64u, 1024u, 16384u}) {
    Table keys(n, 1, 0.0);
    keys(0, 0) = 1;
    const std::string at = ", n = " + std::to_string(n);
    check.near("largest log n - L of a row" + at, bound_of(one_anchor(Vector{1}, keys, 0.01)),
               std::log(static_cast<double>(n)), 1e-10);
    check.near("keys in the record of a row" + at, static_cast<double>(record_of(keys.values).k),
               static_cast<double>(n), 0);
  }
}

}  // namespace

std::vector<Claim> attention_as_contrast_claims() {
  return {
      computed("002-4.4.25", Verdict::holds, "Each position has an InfoNCE loss over the positions of the sequence",
               "the sum as printed includes the position itself, the text does not", loss_of_a_position),
      computed("002-4.4.26a", Verdict::holds, "Attention's output is the mean of the values under the row's weights",
               "", mean_under_the_weights),
      computed(
          "002-4.4.26b", Verdict::holds_if, "a_ij is the probability that j is the positive of i",
          "keys emit queries with N(k_j, sqrt(d) I), equal priors and equal |k|, or a bias of -|k|^2 / (2 sqrt(d))",
          probability_of_the_positive),
      computed("002-4.4.26c", Verdict::holds_if, "Attention is InfoNCE with soft labels",
               "a target T is given: the loss -sum T log A has dL/ds = A - T", soft_contrast),
      computed("002-4.4.26d", Verdict::view,
               "Attention is like an InfoNCE with unlimited negatives, since all other positions take part",
               "all there are, n - 1: what a row can tell ends at log n, which grows with the sequence",
               count_of_negatives),
  };
}

}  // namespace isentropic::ledger::contrast
