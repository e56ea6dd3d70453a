// What a critic can express, and what its bound therefore says about information.
#include <algorithm>
#include <set>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/information/critic_bounds.hpp"
#include "isentropic/information/distribution.hpp"
#include "ledger/contrast/gaussian_pairs.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;

// An orthogonal map of four coordinates, drawn once.
const Table kRotation = {{-0.05047916295569932, 0.12468065699085004, -0.4455722903582195, 0.8850830028559764},
                         {0.21506477395034093, -0.370571330318633, -0.8313138415261359, -0.3540357736707203},
                         {0.2825411849039954, 0.9024201593252053, -0.23212987916874342, -0.22786850171452352},
                         {0.9334717328050309, -0.1810234210307588, 0.23769381596729314, 0.1984003400783381}};

enum class Map : std::uint8_t { forward, backward };

Table rotated(const Table& points, Map map) {
  Table out(points.rows, 4);
  for (std::size_t i = 0; i < points.rows; ++i)
    for (std::size_t c = 0; c < 4; ++c)
      for (std::size_t e = 0; e < 4; ++e)
        out(i, c) += points(i, e) * (map == Map::forward ? kRotation(e, c) : kRotation(c, e));
  return out;
}

// y is replaced by y R: no information is lost. The critic cos / 0.2 either stays fixed too, or may apply R's inverse.
void bound_moves_without_information(Check& check) {
  const double information = gaussian_information(0.9, 4);
  Mean aligned, fixed, change;
  for (std::int64_t batch = 0; batch < check.effort(60, 240); ++batch) {
    Contrast contrast = gaussian_batch(check.random(), 0.9, 4, 256, {1, 0});
    contrast.temperature = 0.2;
    normalise_rows(&contrast.query);
    normalise_rows(&contrast.key);
    const double before = bound_of(contrast);
    contrast.query = rotated(contrast.query, Map::forward);
    const double rotated_only = bound_of(contrast);
    contrast.query = rotated(contrast.query, Map::backward);
    const double with_inverse = bound_of(contrast);
    aligned.add(before);
    fixed.add(rotated_only);
    change.add(check.choose(with_inverse, rotated_only) - before);
  }
  check.near("change of log N - L under a rotation of y, I unchanged", change.mean(), 0, 1e-9);
  check.as_quoted("log N - L, y as it is", aligned, 2.033, 60);
  check.as_quoted("log N - L, y rotated, critic as before", fixed, -2.747, 60);
  check.at_most("both are at most I", std::max(aligned.mean(), fixed.mean()), information);
}

void count_of_candidates(Check& check) {
  for (std::size_t negatives : {1, 8, 63}) {
    // A critic that knows nothing gives all candidates the same score and has the loss log(candidates).
    const Table keys(negatives + 1, 1, 0.7);
    check.near("loss of equal scores, negatives = " + std::to_string(negatives),
               losses_of(one_anchor(Vector{1}, keys, 1))[0], std::log(static_cast<double>(negatives + 1)), 1e-12);
  }
}

// The proof: w = e^{f(x_1, y)} / mean_j e^{f(x_j, y)} has mean 1 over i.i.d. candidates, and never exceeds N.
void normalised_score(Check& check) {
  const std::size_t n = 8;
  const auto rows = static_cast<std::size_t>(check.effort(100'000, 400'000));
  Table scores(rows, n, check.random().normals(rows * n));  // any critic
  Mean w;
  double largest = 0;
  const std::vector<Record> records = records_of(scores);
  for (std::size_t i = 0; i < rows; ++i) {
    w.add(static_cast<double>(n) * std::exp(scores(i, 0) - log_partition(records[i])));
    largest = std::max(largest, static_cast<double>(n) * peak(records[i]));
  }
  check.near("mean of the normalised score over i.i.d. candidates", w.estimate(), 1);
  check.at_most("largest", largest, static_cast<double>(n));
}

enum class Encoders : std::uint8_t { one_for_both, one_each };

// Y = -X on two symbols, I = log 2, N = 2: a negative differs from the positive half of the time, so log N - L = (log 2
// - mean loss over the two symbols) / 2 for scores f(x).g(y).
double best_dot_product_bound(Check& check, Encoders encoders) {
  const bool shared = encoders == Encoders::one_for_both;
  double best = -1;
  for (std::int64_t start = 0; start < check.effort(2, 10); ++start) {
    Contrast contrast{Table(2, 3, check.random().normals(6)), Table(2, 3, check.random().normals(6)), {1, 0}};
    if (shared) contrast.key = contrast.query;
    for (int step = 0; step < 400; ++step) {
      const LossGradients gradients = gradients_of(contrast);
      for (std::size_t i = 0; i < 6; ++i) {
        const double query = gradients.query.values[i], key = gradients.key.values[i];
        contrast.query.values[i] -= 0.5 * (shared ? query + key : query);
        contrast.key.values[i] -= 0.5 * (shared ? query + key : key);
      }
    }
    best = std::max(best, (std::log(2) - mean_loss(contrast)) / 2);
  }
  return best;
}

void critic_class(Check& check) {
  const Encoders encoders = check.choose(Encoders::one_each, Encoders::one_for_both);
  check.near("best log N - L of f(x).g(y) on Y = -X, N = 2", best_dot_product_bound(check, encoders), 0.3466, 0.001);
  check.near("best with one encoder for both", best_dot_product_bound(check, Encoders::one_for_both), 0, 1e-3);
  // The best a cosine can do: the positive in the anchor's direction, the others opposite.
  for (const auto& [temperature, n, quoted] :
       {std::tuple{1.0, std::size_t{16}, 1.66}, {1.0, std::size_t{256}, 1.98}, {1.0, std::size_t{4096}, 2.00}}) {
    Table keys(n, 1, -1.0);
    keys(0, 0) = 1;
    const double reached = bound_of(one_anchor(Vector{1}, keys, temperature));
    const std::string at = "cosine critic, tau = 1, N = " + std::to_string(n);
    check.near(at, reached, cosine_critic_ceiling(n, temperature), 1e-10);
    check.near(at + ", quoted", reached, quoted, 0.0051);
  }
  report::PlotCurve reached{"cosine critic, tau = 1", {}, {}}, formula{"log N - log(1 + (N - 1) e^-2)", {}, {}},
      ceiling{"log N", {}, {}};
  formula.style = report::CurveStyle::formula, ceiling.style = report::CurveStyle::bound;
  for (std::size_t n = 2; n <= 4096; n *= 2) {
    Table opposite(n, 1, -1.0);
    opposite(0, 0) = 1;
    for (report::PlotCurve* curve : {&reached, &formula, &ceiling}) curve->x.push_back(static_cast<double>(n));
    reached.y.push_back(bound_of(one_anchor(Vector{1}, opposite, 1)));
    formula.y.push_back(cosine_critic_ceiling(n, 1));
    ceiling.y.push_back(std::log(static_cast<double>(n)));
  }
  check.plot({"The most a cosine over tau = 1 can reach",
              "N",
              "nats",
              report::PlotScale::log,
              report::PlotScale::linear,
              {reached, formula, ceiling}});
  Table keys(65'536, 1, -1.0);
  keys(0, 0) = 1;
  check.near("cosine critic, tau = 0.07, N = 65536: no cap below log N", bound_of(one_anchor(Vector{1}, keys, 0.07)),
             std::log(65'536.0), 1e-6);
  check.near("cosine critic, tau = 0.5, N = 65536: 2 / tau", bound_of(one_anchor(Vector{1}, keys, 0.5)), 4, 1e-3);
}

// Tokens drawn independently carry no information about each other, whatever attention does; and untrained attention
// already spreads the whole sequence into one output.
void information_between_positions(Check& check) {
  const Joint independent{{2, 2, 2}, Vector(8, 0.125)};
  check.near("sum_t I(x_t; others) of independent bits",
             total_correlation(independent) + dual_total_correlation(independent), 0, 1e-12);
  const Table embedding(2, 3, check.random().normals(6)), position(3, 3, check.random().normals(9, 0.5));
  std::set<Vector> outputs, inputs;
  for (int sequence = 0; sequence < 8; ++sequence) {
    Table z(3, 3);
    for (std::size_t t = 0; t < 3; ++t)
      for (std::size_t c = 0; c < 3; ++c)
        z(t, c) = embedding(static_cast<std::size_t>(sequence >> t & 1), c) + position(t, c);
    AttentionProblem options;
    options.scale = Scale::constant(1);
    const Table output = table_of(attend(z, z, z, options).output);
    inputs.insert(Vector(z.row(0).begin(), z.row(0).end()));
    outputs.insert(Vector(output.row(0).begin(), output.row(0).end()));
  }
  check.near("bits about the sequence in x_1", std::log2(static_cast<double>(inputs.size())), 1, 0);
  check.near("bits about the sequence in o_1, untrained", std::log2(static_cast<double>(outputs.size())), 3, 0);
}

void attention_formula(Check& check) {
  Random& random = check.random();
  const Table query(5, 4, random.normals(20)), key(7, 4, random.normals(28)), value(7, 3, random.normals(21));
  const Table output = table_of(attend(query, key, value).output);
  Table by_hand(5, 3);
  for (std::size_t i = 0; i < 5; ++i) {
    Vector scores;
    for (std::size_t j = 0; j < 7; ++j) scores.push_back(dot(query.row(i), key.row(j)) / std::sqrt(4));
    const Vector weights = softmax_by_hand(scores);
    for (std::size_t j = 0; j < 7; ++j)
      for (std::size_t c = 0; c < 3; ++c) by_hand(i, c) += weights[j] * value(j, c);
  }
  check.near("attention() less a plain loop", largest_gap(output.values, by_hand.values), 0, 1e-12);
}

}  // namespace

std::vector<Claim> critic_claims() {
  return {
      computed("002-4.4.8d", Verdict::holds_if, "Minimising InfoNCE's loss maximises mutual information",
               "a lower bound on it: the loss also moves with what the critic can express, at the same information",
               bound_moves_without_information),
      computed("002-4.4.8e", Verdict::slip, "N stands for the negatives in one place, for all candidates in another",
               "N counts all candidates; with N negatives read log(N + 1)", count_of_candidates),
      computed("002-4.4.8f", Verdict::holds_if, "A dot product of codes, or a cosine over tau, serves as critic",
               "its class contains PMI + c(y): one encoder cannot express opposites, a cosine stops at 2 / tau",
               critic_class),
      computed("002-4.4.9", Verdict::holds,
               "The bound rests on the positive's score divided by the mean over the candidates",
               "E[w] = 1 over i.i.d. candidates makes it a density ratio, w <= N gives the ceiling", normalised_score),
      computed("002-4.4.1-txt", Verdict::view,
               "Attention, read as a contrast, maximises the information between positions",
               "no objective is attached to attention; I(x_t; others) is a constant of the data",
               information_between_positions),
      computed("002-4.4.10", Verdict::holds, "Attention is softmax(Q K^T / sqrt(d_k)) V", "", attention_formula),
  };
}

}  // namespace isentropic::ledger::contrast
