// Several heads: parallel contrasts over the same candidates.
#include <algorithm>
#include <set>

#include "experiments/tools/algebra.hpp"
#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "ledger/contrast/losses.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;

// Positions, model width, heads, and head width.
constexpr std::size_t kLength = 5, kModel = 12, kHeads = 3, kHead = kModel / kHeads;

struct MultiHead {
  Table x, query, key, value, output;  // [n, model], projections [model, model]

  explicit MultiHead(Random& random) {
    x = Table(kLength, kModel, random.normals(kLength * kModel));
    for (Table* w : {&query, &key, &value, &output})
      *w = Table(kModel, kModel, random.normals(kModel * kModel, 1 / std::sqrt(kModel)));
  }
};

// Views [n, heads * head] as [1, heads, n, head], without a copy.
View heads_view(const Table& projected) {
  const auto n = static_cast<std::int64_t>(projected.rows), d = static_cast<std::int64_t>(kHead),
             heads = static_cast<std::int64_t>(kHeads), row = static_cast<std::int64_t>(kModel);
  return View(projected.values.data(), {1, heads, n, d}, {row * n, d, row, 1});
}

// All heads side by side in the columns, from one call.
Table heads_of(const MultiHead& m, double scale) {
  const Table q = product(m.x, m.query), k = product(m.x, m.key), v = product(m.x, m.value);
  const AttentionProblem problem{.query = heads_view(q),
                                 .key = heads_view(k),
                                 .value = heads_view(v),
                                 .scale = Scale::constant(scale),
                                 .executor = &serial_executor()};
  const Vector flat = attention(problem).output.to_doubles();
  Table out(kLength, kModel);
  for (std::size_t h = 0; h < kHeads; ++h)
    for (std::size_t i = 0; i < kLength; ++i)
      for (std::size_t c = 0; c < kHead; ++c) out(i, h * kHead + c) = flat[(h * kLength + i) * kHead + c];
  return out;
}

// Columns of one head.
Table slice(const Table& table, std::size_t head) {
  Table out(table.rows, kHead);
  for (std::size_t i = 0; i < table.rows; ++i)
    for (std::size_t c = 0; c < kHead; ++c) out(i, c) = table(i, head * kHead + c);
  return out;
}

// The definition, in plain loops.
Table by_hand(const MultiHead& m, double scale) {
  Table out(kLength, kModel);
  for (std::size_t h = 0; h < kHeads; ++h) {
    const Table q = slice(product(m.x, m.query), h), k = slice(product(m.x, m.key), h),
                v = slice(product(m.x, m.value), h);
    for (std::size_t i = 0; i < kLength; ++i) {
      Vector scores;
      for (std::size_t j = 0; j < kLength; ++j) scores.push_back(scale * dot(q.row(i), k.row(j)));
      const Vector a = softmax_by_hand(scores);
      for (std::size_t j = 0; j < kLength; ++j)
        for (std::size_t c = 0; c < kHead; ++c) out(i, h * kHead + c) += a[j] * v(j, c);
    }
  }
  return product(out, m.output);
}

// The largest change of the outputs of two sequences when 1/sqrt(d_model) replaces 1/sqrt(d_k), under the initial
// weights of torch.nn.MultiheadAttention: uniform, with range sqrt(6 / 48) and 1/sqrt(12).
double change_by_the_wrong_scale(Random& random) {
  MultiHead m(random);
  for (Table* w : {&m.query, &m.key, &m.value})
    for (double& x : w->values) x = random.uniform(-1, 1) * std::sqrt(6.0 / 48);
  for (double& x : m.output.values) x = random.uniform(-1, 1) / std::sqrt(kModel);
  double largest = 0;
  for (int sequence = 0; sequence < 2; ++sequence) {
    m.x = Table(kLength, kModel, random.normals(kLength * kModel));
    largest = std::max(largest, largest_gap(product(heads_of(m, 1 / std::sqrt(kModel)), m.output).values,
                                            product(heads_of(m, 1 / std::sqrt(kHead)), m.output).values));
  }
  return largest;
}

void multi_head(Check& check) {
  const MultiHead m(check.random());
  const double scale = 1 / std::sqrt(kHead);
  const Table heads = heads_of(m, scale), output = product(heads, m.output);
  check.near("attention() with three heads less plain loops", largest_gap(output.values, by_hand(m, scale).values), 0,
             1e-12);
  Mean changes;
  for (std::int64_t t = 0; t < check.effort(200, 1000); ++t) changes.add(change_by_the_wrong_scale(check.random()));
  check.at_least("scale 1/sqrt(d_model) in place of 1/sqrt(d_k): mean change", changes.mean(), 0.05);
  check.as_quoted("that change, quoted from one draw", changes, 0.143, 1);
  // Concatenating and projecting is the sum of the heads' own projections.
  Table sum(kLength, kModel);
  for (std::size_t h = 0; h < kHeads; ++h) {
    Table rows(kHead, kModel);
    for (std::size_t c = 0; c < kHead; ++c)
      std::copy(m.output.row(h * kHead + c).begin(), m.output.row(h * kHead + c).end(), rows.row(c).begin());
    const Table part = product(slice(heads, h), rows);
    for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += part.values[i];
  }
  check.near("concatenated and projected less the sum of head projections", largest_gap(sum.values, output.values), 0,
             1e-12);
}

void each_head_is_a_contrast(Check& check) {
  const MultiHead m(check.random());
  double gap = 0;
  for (std::size_t h = 0; h < kHeads; ++h) {
    const Table q = slice(product(m.x, m.query), h), k = slice(product(m.x, m.key), h), weights = weights_of(q, k);
    for (std::size_t j = 0; j < kLength; ++j) {
      const Contrast contrast{q, k, std::vector<std::int64_t>(kLength, static_cast<std::int64_t>(j)), std::sqrt(kHead)};
      const Vector losses = losses_of(contrast);
      for (std::size_t i = 0; i < kLength; ++i) gap = std::max(gap, std::abs(losses[i] + std::log(weights(i, j))));
    }
  }
  check.near("-log A^(h)_ij less InfoNCE with tau = sqrt(d_k), largest", gap, 0, 1e-12);
}

void candidates_are_shared(Check& check) {
  const MultiHead m(check.random());
  std::set<std::size_t> candidates;  // for the first query, over all heads
  double nearest = 1;
  Vector first;
  for (std::size_t h = 0; h < kHeads; ++h) {
    const Table weights = weights_of(slice(product(m.x, m.query), h), slice(product(m.x, m.key), h));
    for (std::size_t j = 0; j < kLength; ++j)
      if (weights(0, j) > 0) candidates.insert(j);
    if (h == 0)
      first.assign(weights.row(0).begin(), weights.row(0).end());
    else
      nearest = std::min(nearest, largest_gap(first, weights.row(0)));
  }
  check.near("distinct candidates of a query over three heads", static_cast<double>(candidates.size()), kLength, 0);
  check.at_least("what differs are the scores: gap between two heads' weights", nearest, 1e-6);
}

// Mean square error of the best linear decoder that reads the contents x_1, x_2 of two positions from the output.
double decoding_error(const Table& features, const Table& contents) {
  // Normal equations of one or two features, solved by Gaussian elimination.
  const std::size_t f = features.columns;
  double error = 0;
  for (std::size_t target = 0; target < 2; ++target) {
    Table a(f, f + 1);
    double square = 0;
    for (std::size_t row = 0; row < features.rows; ++row) {
      for (std::size_t i = 0; i < f; ++i) {
        for (std::size_t j = 0; j < f; ++j) a(i, j) += features(row, i) * features(row, j);
        a(i, f) += features(row, i) * contents(row, target);
      }
      square += contents(row, target) * contents(row, target);
    }
    const Table moments = a;
    for (std::size_t p = 0; p < f; ++p)
      for (std::size_t i = 0; i < f; ++i) {
        const double factor = i == p ? 0 : a(i, p) / a(p, p);
        for (std::size_t j = p; j <= f; ++j) a(i, j) -= factor * a(p, j);
      }
    for (std::size_t p = 0; p < f; ++p) square -= a(p, f) / a(p, p) * moments(p, f);
    error += square / static_cast<double>(features.rows) / 2;
  }
  return error;
}

enum class ValueMap : std::uint8_t { same_everywhere, marks_the_position };

// One head per entry of `first_weights`, its fixed attention to position 1: the features are the heads' outputs.
Table head_outputs(const Table& contents, const Vector& first_weights, ValueMap map) {
  const bool marks = map == ValueMap::marks_the_position;
  const std::size_t per_head = marks ? 2 : 1;
  Table out(contents.rows, first_weights.size() * per_head);
  // All samples become coordinates of the values: one call per head.
  Table values(2, contents.rows * per_head);
  for (std::size_t row = 0; row < contents.rows; ++row)
    for (std::size_t position = 0; position < 2; ++position)
      values(position, row * per_head + (marks ? position : 0)) = contents(row, position);
  for (std::size_t h = 0; h < first_weights.size(); ++h) {
    const Vector scores = {std::log(first_weights[h]), std::log(1 - first_weights[h])};
    const Vector output = output_of(scores, values);
    for (std::size_t row = 0; row < contents.rows; ++row)
      for (std::size_t c = 0; c < per_head; ++c) out(row, h * per_head + c) = output[row * per_head + c];
  }
  return out;
}

void one_head_for_two_relations(Check& check) {
  const auto rows = static_cast<std::size_t>(check.effort(20'000, 100'000));
  const Table contents(rows, 2, check.random().normals(2 * rows));
  const ValueMap map = check.choose(ValueMap::same_everywhere, ValueMap::marks_the_position);
  double best = 1;
  for (double weight = 0.05; weight < 1; weight += 0.1)
    best = std::min(best, decoding_error(head_outputs(contents, {weight}, map), contents));
  // One of two unit variances is explained, so half remains, whatever the weight.
  const Estimate error{best, std::sqrt(0.5 / static_cast<double>(rows))};
  check.near("best error of one head", error, 0.5);
  check.as_quoted("best error of one head, quoted from 20000 pairs", error, 0.498, std::sqrt(0.5 / 20'000));
  check.near("error of two heads, one for each position",
             decoding_error(head_outputs(contents, {0.999, 0.001}, ValueMap::same_everywhere), contents), 0, 1e-9);
}

}  // namespace

std::vector<Claim> head_claims() {
  return {
      computed("002-4.4.28-30", Verdict::holds,
               "Multi-head attention: heads of their own projections, joined and projected",
               "the scale is that of a head, 1/sqrt(d_k)", multi_head),
      computed("002-4.4.4-txt2", Verdict::holds, "Each head is a soft InfoNCE of its own",
               "as algebra, with tau = sqrt(d_k); that heads are independent does not follow", each_head_is_a_contrast),
      computed("002-4.4.4-txt3", Verdict::view, "Heads act like different sets of negatives",
               "an analogy: what they differ in are the scores; the positions are the same for all",
               candidates_are_shared),
      computed("002-4.4.4-txt4", Verdict::holds_if, "One head cannot serve several relations",
               "its weights do not depend on content and its values do not mark the position",
               one_head_for_two_relations),
  };
}

}  // namespace isentropic::ledger::contrast
