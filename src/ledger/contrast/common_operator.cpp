// The same softmax in classification, contrast and attention: what is shared, and what is not.
#include <algorithm>
#include <limits>
#include <numeric>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/information/distribution.hpp"
#include "ledger/contrast/losses.hpp"
#include "ledger/contrast/subjects.hpp"
#include "ledger/scores_computed.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;

void true_class_alone(Check& check) {
  const Vector logits = {1, 0.2, -0.3}, soft = {0.7, 0.2, 0.1}, p = weights_of(logits);
  const Vector target = check.choose(Vector{1, 0, 0}, soft);
  check.near("cross-entropy against -log p_hat of the class", cross_entropy(target, logits), -std::log(p[0]), 1e-12);
  check.near("-log p_hat", -std::log(p[0]), 0.5434, 6e-5);
  check.near("cross-entropy of the soft target", cross_entropy(soft, logits), 0.8334, 6e-5);
  check.near("which is H(p) + KL(p || p_hat)", cross_entropy(soft, logits), entropy(soft) + kl_divergence(soft, p),
             1e-12);
}

struct Draw {
  Table query, key, value;
};

Draw random_draw(Random& random, std::size_t n = 6, std::size_t d = 4, std::size_t d_v = 3) {
  return {Table(1, d, random.normals(d)), Table(n, d, random.normals(n * d)), Table(n, d_v, random.normals(n * d_v))};
}

// softmax_j(q.k_j / tau), by hand.
Vector weights_by_hand(const Draw& draw, double temperature) {
  Vector scores;
  for (std::size_t j = 0; j < draw.key.rows; ++j)
    scores.push_back(dot(draw.query.row(0), draw.key.row(j)) / temperature);
  return softmax_by_hand(scores);
}

// -log of every candidate's probability, obtained from the loss.
Vector likelihoods(const Draw& draw, double temperature) {
  Contrast contrast{Table(draw.key.rows, draw.query.columns), draw.key, std::vector<std::int64_t>(draw.key.rows),
                    temperature};
  std::iota(contrast.target.begin(), contrast.target.end(), 0);
  for (std::size_t i = 0; i < draw.key.rows; ++i)
    std::copy(draw.query.values.begin(), draw.query.values.end(), contrast.query.row(i).begin());
  return losses_of(contrast);
}

void contrastive_softmax(Check& check) {
  for (double temperature : {0.1, 1.0}) {
    const Draw draw = random_draw(check.random());
    Vector p;
    for (double loss : likelihoods(draw, temperature)) p.push_back(std::exp(-loss));
    check.near("e^-loss of each candidate less its softmax", largest_gap(p, weights_by_hand(draw, temperature)), 0,
               1e-12);
  }
}

void attention_weights_and_output(Check& check) {
  Random& random = check.random();
  const Table query(5, 4, random.normals(20)), key(7, 4, random.normals(28)), value(7, 3, random.normals(21));
  const Table weights = weights_of(query, key), output = table_of(attend(query, key, value).output);
  double weight_gap = 0, output_gap = 0, row_sum = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    const Draw draw{Table(1, 4, {query.row(i).begin(), query.row(i).end()}), key, value};
    const Vector a = weights_by_hand(draw, std::sqrt(4));
    weight_gap = std::max(weight_gap, largest_gap(weights.row(i), a));
    Vector o(3, 0.0);
    for (std::size_t j = 0; j < 7; ++j)
      for (std::size_t c = 0; c < 3; ++c) o[c] += a[j] * value(j, c);
    output_gap = std::max(output_gap, largest_gap(output.row(i), o));
    row_sum = std::max(row_sum, std::abs(std::accumulate(weights.row(i).begin(), weights.row(i).end(), 0.0) - 1));
  }
  check.near("weights less a plain loop", weight_gap, 0, 1e-12);
  check.near("outputs less a plain loop", output_gap, 0, 1e-12);
  check.near("sums over the keys of a query less 1", row_sum, 0, 1e-12);
}

void three_call_sites(Check& check) {
  const Draw draw = random_draw(check.random());
  Vector attention, classifier;
  for (double a : weights_of(draw.query, draw.key).values) attention.push_back(-std::log(a));
  Vector logits;
  for (std::size_t j = 0; j < draw.key.rows; ++j)
    logits.push_back(dot(draw.query.row(0), draw.key.row(j)) / std::sqrt(4));
  const Vector contrast = likelihoods(draw, std::sqrt(4));
  check.near("InfoNCE with tau = sqrt(d) less -log of the attention weight", largest_gap(contrast, attention), 0,
             1e-12);
  check.near("classification with these logits less the same", largest_gap(losses_of(classes(logits)), attention), 0,
             1e-12);
}

void gradients_differ(Check& check) {
  double gap = 0;
  Mean distances;
  for (int t = 0; t < 200; ++t) {
    const Vector scores = check.random().normals(6), upstream = check.random().normals(4);
    const Table values(6, 4, check.random().normals(24));
    const Vector measured = attention_score_gradient(scores, values, upstream), a = weights_of(scores);
    Vector g, jacobian(6);
    for (std::size_t j = 0; j < 6; ++j) g.push_back(dot(values.row(j), upstream));
    for (std::size_t j = 0; j < 6; ++j) jacobian[j] = a[j] * (g[j] - dot(a, g));
    double nearest = 1e9;
    Vector less_truth;  // p_hat - p for the best-fitting class
    for (std::size_t label = 0; label < 6; ++label) {
      Vector candidate = a;
      candidate[label] -= 1;
      if (largest_gap(candidate, measured) < nearest)
        nearest = largest_gap(candidate, measured), less_truth = candidate;
    }
    distances.add(nearest);
    gap = std::max(gap, largest_gap(measured, check.choose(jacobian, less_truth)));
  }
  check.near("dL/ds of attention less the formula, largest of 200", gap, 0, 1e-12);
  check.as_quoted("distance of the nearest p_hat - p, quoted from one draw", distances, 0.74, 1);
  check.at_least("distance of the nearest p_hat - p, mean", distances.mean(), 0.3);
  // With a likelihood on top, the same Jacobian does give p_hat - p.
  const Vector logits = check.random().normals(6);
  Vector expected = weights_of(logits), target(6, 0.0);
  expected[2] -= 1, target[2] = 1;
  check.near("classification: gradient less p_hat - p",
             largest_gap(gradients_of(classes(logits), target).key.values, expected), 0, 1e-12);
}

void from_a_divergence(Check& check) {
  const Vector logits = check.random().normals(7), target = check.random().probabilities(7);
  check.near("cross-entropy less H(p) + KL(p || p_hat)", cross_entropy(target, logits),
             entropy(target) + kl_divergence(target, weights_of(logits)), 1e-12);
  const Vector slopes = numeric_gradient(logits, [&](const Vector& z) { return kl_divergence(target, weights_of(z)); });
  check.near("gradient of the loss less that of the divergence",
             largest_gap(gradients_of(classes(logits), target).key.values, slopes), 0, 1e-8);
}

// The keys with the best k scores, found without scores: for keys in ascending order and a positive query, the last k.
Table last_rows(const Table& table, std::size_t k) {
  return {k, table.columns, {table.values.end() - static_cast<std::ptrdiff_t>(k * table.columns), table.values.end()}};
}

void sparse_attention(Check& check) {
  Vector sorted = check.random().normals(64);
  std::sort(sorted.begin(), sorted.end());
  const Table query(1, 1, 1.3), keys(64, 1, sorted), values(64, 1, check.random().normals(64));
  AttentionProblem top_8;
  top_8.scale = Scale::constant(1), top_8.map = ScoreMap::top_k(8);
  // The best eight from an index, or top_k over all keys.
  const Table seen = check.choose(last_rows(keys, 8), keys), read = check.choose(last_rows(values, 8), values);
  check.near("share of 64 scores that attention() computes to keep 8",
             static_cast<double>(scores_computed(query, seen, read, top_8)) / 64, 8.0 / 64, 0);
  check.near("output less that of top_k over all keys",
             largest_gap(attend(query, seen, read, top_8).output.to_doubles(),
                         attend(query, keys, values, top_8).output.to_doubles()),
             0, 1e-12);

  std::int64_t beyond = 0, wrong_count = 0;
  double gap = 0;
  for (std::int64_t t = 0; t < 2000; ++t) {
    const double spreads[] = {0.5, 2, 5};
    const Vector s = check.random().normals(32, spreads[check.random().integer(0, 2)]);
    const Table v(32, 4, check.random().normals(128));
    const auto k = check.random().integer(1, 31);
    const Vector full = weights_of(s), sparse = weights_of(s, 1, ScoreMap::top_k(k));
    double missing = 0, distance = 0, longest = 0;
    Vector difference(4, 0.0);
    std::int64_t kept = 0;
    for (std::size_t j = 0; j < 32; ++j) {
      kept += sparse[j] > 0;
      if (sparse[j] == 0) missing += full[j];
      distance += std::abs(full[j] - sparse[j]);
      longest = std::max(longest, norm(v.row(j)));
      for (std::size_t c = 0; c < 4; ++c) difference[c] += (full[j] - sparse[j]) * v(j, c);
    }
    beyond += norm(difference) > 2 * missing * longest + 1e-12;
    wrong_count += kept != k;
    gap = std::max(gap, std::abs(distance - 2 * missing));
  }
  check.never("outputs further off than 2 (missing mass) max |v|", beyond);
  check.never("rows without exactly k weights", wrong_count);
  check.near("L1 distance less 2 (missing mass), largest", gap, 0, 1e-12);
  const Vector s = check.random().normals(32);
  check.near("k = n less the full softmax", largest_gap(weights_of(s, 1, ScoreMap::top_k(32)), weights_of(s)), 0,
             1e-15);
}

void bias_injects_position(Check& check) {
  // No content at all: eight equal keys, and a bias that is -|i - j| / 2 or constant.
  const Table query(8, 2, 0.0), key(8, 2, 1.0), constant(8, 8, 3.0);
  AttentionProblem options;
  options.bias = check.choose(Bias::alibi(0.5), Bias::dense(view_of(constant)));
  const Table weights = weights_of(query, key, options);
  const Vector quoted = {0.063, 0.104, 0.172, 0.283, 0.172, 0.104, 0.063, 0.038};
  check.near("row 3 less its quoted weights", largest_gap(weights.row(3), quoted), 0, 6e-4);
  AttentionProblem level;
  level.bias = Bias::dense(view_of(constant));
  const Table x(8, 2, check.random().normals(16));
  check.near("change by a bias constant along the row",
             largest_gap(weights_of(x, x, level).values, weights_of(x, x).values), 0, 1e-14);
  // softmax(z + b) is softmax(z) e^b, renormalised; -inf is a mask.
  const Vector z = check.random().normals(6), b = check.random().normals(6);
  const Table scores(1, 1, 1.0), keys(6, 1, z), bias(1, 6, b);
  Table hidden(1, 6, 0.0);
  hidden(0, 4) = hidden(0, 5) = -std::numeric_limits<double>::infinity();
  AttentionProblem biased;
  biased.bias = Bias::dense(view_of(bias));
  Vector expected = weights_of(z);
  double sum = 0;
  for (std::size_t j = 0; j < 6; ++j) sum += expected[j] *= std::exp(b[j]);
  check.near("softmax(z + b) less p e^b normalised",
             largest_gap(weights_of(scores, keys, biased).values, times(1 / sum, expected)), 0, 1e-12);
  AttentionProblem masked;
  masked.bias = Bias::dense(view_of(hidden));
  const Vector seen = weights_of(scores, keys, masked).values;
  check.near("weight behind a bias of -inf", seen[4] + seen[5], 0, 0);
}

void output_is_an_expectation(Check& check) {
  const Draw draw = random_draw(check.random());
  const Vector weights = weights_of(draw.query, draw.key).values,
               output = table_of(attend(draw.query, draw.key, draw.value).output).values;
  std::vector<Mean> means(3);
  for (std::int64_t t = 0; t < check.effort(200'000, 1'000'000); ++t) {
    double u = check.random().uniform();
    std::size_t j = 0;
    while (j + 1 < weights.size() && u >= weights[j]) u -= weights[j++];
    for (std::size_t c = 0; c < 3; ++c) means[c].add(draw.value(j, c));
  }
  for (std::size_t c = 0; c < 3; ++c)
    check.near("mean of v_j over j ~ a, coordinate " + std::to_string(c), means[c].estimate(), output[c]);
  // Valid for any scores.
  double worst = 0;
  for (double spread : {1e-3, 1.0, 1e2, 1e4}) {
    const Vector p = weights_of(check.random().normals(64, spread));
    worst = std::max(worst, std::abs(std::accumulate(p.begin(), p.end(), 0.0) - 1));
    worst = std::max(worst, -*std::min_element(p.begin(), p.end()));
  }
  check.near("scores of deviation 0.001 to 10000: |sum - 1| or a negative weight", worst, 0, 1e-12);
}

}  // namespace

std::vector<Claim> common_operator_claims() {
  return {
      computed("002-4.4.21", Verdict::holds_if, "The cross-entropy is -log of the true class's probability",
               "one-hot target; else it is H(p) + KL(p || p_hat)", true_class_alone),
      computed("002-4.4.22", Verdict::holds, "In contrast the candidates' probabilities are softmax(q.k_j / tau)", "",
               contrastive_softmax),
      computed("002-4.4.23/24", Verdict::holds,
               "Attention's weights are a softmax over the keys, its output their mean of v", "over j for each query i",
               attention_weights_and_output),
      computed("002-4.4.3-tab", Verdict::holds, "Classification, contrast and attention are softmax(score / scale)",
               "classification with scale 1", three_call_sites),
      computed(
          "002-4.4.3-txt1", Verdict::corrected, "Classification and attention share the gradient p_hat - p",
          "attention: dL/ds = a (g - <a, g>), g = V dL/do; shared is the Jacobian, p_hat - p needs a likelihood on top",
          gradients_differ),
      computed("002-4.4.3-txt2", Verdict::holds, "Softmax with cross-entropy is the minimisation of a divergence", "",
               from_a_divergence),
      computed(
          "002-4.4.3-txt3", Verdict::holds_if, "Keeping the k largest scores alone saves computation",
          "they are found without scoring all keys, which top_k does not; the output moves by at most 2 (missing mass) "
          "max |v|",
          sparse_attention),
      computed("002-4.4.3-txt4", Verdict::holds_if, "A bias on the scores injects position",
               "it varies along the row: a constant has no effect", bias_injects_position),
      computed("002-4.4.3-txt5", Verdict::holds,
               "Attention's output is an expectation, its weights always a distribution", "", output_is_an_expectation),
  };
}

}  // namespace isentropic::ledger::contrast
