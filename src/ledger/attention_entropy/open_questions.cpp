// Section 25: the questions the source leaves open, with what can be measured.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/softmax_loss.hpp"
#include "isentropic/theory/random_scores.hpp"
#include "ledger/attention_entropy/subjects.hpp"

namespace isentropic::ledger::attention_entropy {
namespace {

// ---- Q1: other maps under noise ----

// |a' - a|^2 / |a|^2 of rows whose scores change: the squared change of the output relative to its size, averaged over
// independent values with the same variance.
Estimate change_by_noise(const Table& scores, const Table& noisy, const ScoreMap& map) {
  Mean out;
  for (std::size_t r = 0; r < scores.rows; ++r) {
    const std::vector<double> before = weights_of(scores.row(r), 1, map), after = weights_of(noisy.row(r), 1, map);
    double change = 0, size = 0;
    for (std::size_t j = 0; j < before.size(); ++j)
      change += std::pow(after[j] - before[j], 2), size += before[j] * before[j];
    out.add(change / size);
  }
  const Estimate square = out.estimate();
  return {std::sqrt(square.mean), square.error / (2 * std::sqrt(square.mean))};
}

struct MapUnderNoise {
  std::string name;
  ScoreMap map;
  std::vector<Estimate> change;  // one per standard deviation of the scores
};

void robust_maps(Check& check) {
  const std::size_t n = 256;
  const auto rows = static_cast<std::size_t>(check.effort(400, 2000));
  const double ratio = 0.5;  // noise relative to score
  const std::vector<double> unit = check.random().normals(rows * n), noise = check.random().normals(rows * n);
  MapUnderNoise softmax{"softmax", ScoreMap::softmax(), {}}, l1{"L1", ScoreMap::l1(), {}},
      sigmoid{"sigmoid, normalised", ScoreMap::sigmoid(0, Normaliser::l1), {}};
  const std::vector<double> deviations = {0.25, 0.5, 0.8, 1.0, 2.0};
  for (const double size : deviations) {
    Table scores(rows, n), noisy(rows, n);
    for (std::size_t i = 0; i < unit.size(); ++i) {
      scores.values[i] = size * unit[i];
      noisy.values[i] = size * (unit[i] + ratio * noise[i]);
    }
    for (MapUnderNoise* x : {&softmax, &l1, &sigmoid}) x->change.push_back(change_by_noise(scores, noisy, x->map));
  }
  // The relative deviation of e^noise is sqrt(e^{sigma^2} - 1). Signed L1 weights turn by an angle of cosine 1/sqrt(1 +
  // r^2).
  const auto law = [&](double size) { return std::sqrt(std::expm1(ratio * ratio * size * size)); };
  const double turn = std::sqrt(2 - 2 / std::sqrt(1 + ratio * ratio));
  for (const std::size_t x : {0u, 1u, 2u, 3u})
    check.near("softmax, scores of deviation " + short_text(deviations[x]), softmax.change[x], law(deviations[x]),
               0.03 * law(deviations[x]));
  check.at_most("softmax over its formula, scores N(0, 4): 5 keys share the weight", softmax.change[4].mean / law(2),
                0.9);
  check.near("L1, scores N(0, 0.5^2)", l1.change[1], turn, 0.01 * turn);
  check.near("L1 at deviation 2 less L1 at deviation 1/4", l1.change[4].mean - l1.change[0].mean, 0, 1e-12);
  check.near("deviation where both formulas agree", std::sqrt(std::log1p(turn * turn)) / ratio, 0.9, 0.05);
  check.at_most("softmax over L1, scores N(0, 0.8^2)", softmax.change[2].mean / l1.change[2].mean, 0.97);
  check.at_least("softmax over L1, scores N(0, 1)", softmax.change[3].mean / l1.change[3].mean, 1.03);
  check.at_least("softmax over L1, scores N(0, 4)", softmax.change[4].mean / l1.change[4].mean, 1.5);
  check.at_most("sigmoid over L1, scores N(0, 1)", sigmoid.change[3].mean / l1.change[3].mean, 0.9);
  check.at_most("sigmoid over L1, scores N(0, 4)", sigmoid.change[4].mean / l1.change[4].mean, 0.9);
  std::vector<report::PlotCurve> curves;
  for (const MapUnderNoise* x : {&softmax, &l1, &sigmoid}) {
    curves.push_back({.label = x->name, .x = deviations, .y = {}});
    for (const Estimate& change : x->change) curves.back().y.push_back(change.mean);
  }
  curves.push_back({.label = "sqrt(e^(r^2 s^2) - 1)", .x = deviations, .y = {}, .style = report::CurveStyle::formula});
  for (const double size : deviations) curves.back().y.push_back(law(size));
  check.plot({.title = "Change of the output under noise of half the scores' deviation",
              .x_label = "deviation of the scores",
              .y_label = "rms change / rms output",
              .x_scale = report::PlotScale::log,
              .curves = curves});
}

// ---- Q2 and Q3: the best entropy, and how to get there ----

// One of n keys matches. Its score is N(mu, 1), the others' are N(0, 1): the log-likelihood of a match is mu s.
struct MatchTask {
  Table scores;
  std::vector<std::int64_t> match;
  double best = 0;  // the lambda for which softmax(lambda s) is the posterior
};

MatchTask match_task(std::size_t rows, std::size_t n, double mu, Random* random) {
  MatchTask out{Table(rows, n, random->normals(rows * n)), {}, mu};
  for (std::size_t r = 0; r < rows; ++r) {
    out.match.push_back(random->integer(0, static_cast<std::int64_t>(n) - 1));
    out.scores(r, static_cast<std::size_t>(out.match[r])) += mu;
  }
  return out;
}

struct AtScale {
  Estimate entropy;           // of the weights
  Estimate surprise;          // H plus the log of the match's weight: 0 on average if the weights are the posterior
  std::vector<double> error;  // per row: E|o - v_match|^2 over independent unit values = 1 - 2 a_match + sum a^2
};

AtScale at_scale(const MatchTask& task, double lambda) {
  AtScale out;
  Mean h, surprise;
  const std::vector<Record> records = records_of(task.scores, lambda);
  for (std::size_t r = 0; r < records.size(); ++r) {
    const double log_weight =
        lambda * task.scores(r, static_cast<std::size_t>(task.match[r])) - log_partition(records[r]);
    h.add(entropy(records[r]));
    surprise.add(entropy(records[r]) + log_weight);
    out.error.push_back(1 - 2 * std::exp(log_weight) + collision(records[r]));
  }
  out.entropy = h.estimate(), out.surprise = surprise.estimate();
  return out;
}

// I(match; scores) = E log(p(scores | match) / p(scores)) = log n + mu E s_match - E log Z(mu s): the exact expectation
// of log Z over n - 1 scores N(0, 1) plus one more, integrated over that one's law N(mu, 1) by the trapezoidal rule.
double match_information(double n, double mu) {
  double log_z = 0;
  const double h = 1;  // enough for a Gaussian: the error is about e^{-2 pi^2}
  for (double e = -6; e <= 6; e += h)
    log_z += h * std::exp(-e * e / 2) / std::sqrt(2 * std::numbers::pi) *
             expected_row(ScoreLaw::gaussian(), std::log(n - 1), mu, mu + e).log_partition;
  return std::log(n) + mu * mu - log_z;
}

void best_entropy(Check& check) {
  const MatchTask task = match_task(static_cast<std::size_t>(check.effort(4000, 40000)), 64, 2.5, &check.random());
  const AtScale best = at_scale(task, task.best);
  check.near("H - mean surprise of the match at the best scale", best.surprise, 0);
  report::PlotCurve curve{.label = "error of the output", .x = {}, .y = {}};
  for (const double factor : {0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0}) {
    const AtScale other = at_scale(task, factor * task.best);
    Mean more, error;
    for (std::size_t r = 0; r < other.error.size(); ++r)
      more.add(other.error[r] - best.error[r]), error.add(other.error[r]);
    curve.x.push_back(other.entropy.mean), curve.y.push_back(error.mean());
    if (factor != 1)
      check.at_least("error at " + short_text(factor) + " times the best scale less that at the best",
                     more.mean() - 3 * more.estimate().error, 0);
  }
  const double information = match_information(64, task.best);
  check.near("log n - H at the best scale against I(match; scores)",
             Estimate{std::log(64.0) - best.entropy.mean, best.entropy.error}, information, 1e-6);
  check.plot({.title = "Error against entropy: one of 64 keys matches",
              .x_label = "mean H (nats)",
              .y_label = "squared error",
              .curves = {curve}});
}

void adaptive_temperature(Check& check) {
  // Solved: a single target for rows of any length.
  double worst = 0, passes = 0;
  const double one = 1;
  for (const std::size_t n : {64u, 512u, 4096u}) {
    const std::vector<double> scores = check.random().normals(n);
    const AttentionProblem problem{.query = View(&one, {1, 1, 1, 1}),
                                   .key = View(scores.data(), {1, 1, static_cast<std::int64_t>(n), 1}),
                                   .scale = Scale::target_entropy(2.0),
                                   .statistics = Statistics::all(),
                                   .executor = &serial_executor()};
    const AttentionResult result = attention_statistics(problem);
    worst = std::max(worst, std::abs(entropy(result.rows.record(0)) - 2));
    passes = std::max(passes, static_cast<double>(result.rows.iterations.at({0, 0, 0})));
  }
  check.near("H - 2 of rows of 64, 512 and 4096 keys with a target entropy of 2, worst", worst, 0, 1e-6);
  check.at_most("statistics passes it took", passes, 12);

  // Learnt: descent on the match loss, using its gradient in log lambda. Keys are unit vectors, so s = q.
  const std::size_t n = 64;
  const MatchTask task = match_task(static_cast<std::size_t>(check.effort(2000, 10000)), n, 2.5, &check.random());
  Table keys(n, n);
  for (std::size_t j = 0; j < n; ++j) keys(j, j) = 1;
  const auto rows = static_cast<std::int64_t>(task.match.size());
  const std::vector<double> up(task.match.size(), 1 / static_cast<double>(rows));
  double lambda = task.best / 4;
  for (int t = 0; t < 25; ++t) {
    const SoftmaxLossProblem problem{.query = View(task.scores.values.data(), {rows, 64}),
                                     .key = View(keys.values.data(), {64, 64}),
                                     .target = View(task.match.data(), {rows}),
                                     .scale = lambda,
                                     .executor = &serial_executor()};
    const SoftmaxLossGradients gradients =
        softmax_loss_backward(problem, softmax_loss(problem), {.loss = View(up.data(), {rows})});
    lambda *= std::exp(-0.7 * lambda * gradients.scale);
  }
  check.relative("lambda that descent on the loss learns, from a quarter of the best", lambda, task.best, 0.15);
  const AtScale learnt = at_scale(task, lambda);
  check.near("H - mean surprise of the match at the learnt scale", learnt.surprise.mean, 0, 1e-3);
}

// ---- Q4: two kinds of keys ----

void two_modalities(Check& check) {
  const std::size_t words = 64, patches = 576;
  const std::int64_t rows = check.effort(200, 2000);
  const double lift = std::sqrt(1 + 2 * std::log(9.0));  // the deviation at which words get the same total weight
  Mean share, lifted;
  double chain = 0;
  for (std::int64_t t = 0; t < rows; ++t) {
    const std::vector<double> text = check.random().normals(words), image = check.random().normals(patches);
    const Record a = record_of(text), b = record_of(image), whole = merge(a, b);
    const double p = std::exp(log_partition(b) - log_partition(whole));
    share.add(p);
    const Record strong = record_of(text, lift);
    lifted.add(log_partition(b) - log_partition(strong));
    std::vector<double> all = text;
    all.insert(all.end(), image.begin(), image.end());
    const double parts = -p * std::log(p) - (1 - p) * std::log1p(-p) + p * entropy(b) + (1 - p) * entropy(a);
    chain = std::max(chain, std::abs(entropy_of(all) - parts));
  }
  check.near("H - (H of the modality + mean H within), worst", chain, 0, 1e-12);
  check.near("mass of 576 patches beside 64 words, equal laws of scores", share.estimate(), 0.9, 0.003);
  // log Z of n scores N(0, s^2) is log n + s^2 / 2, or less for few keys with widely spread scores: 0.29 less here.
  const auto log_partition_of = [](double n, double sigma) {
    return expected_row(ScoreLaw::gaussian(), std::log(n), sigma).log_partition;
  };
  check.near("log of patch mass over word mass, words' scores 2.32 times wider", lifted.estimate(),
             log_partition_of(576, 1) - log_partition_of(64, lift));
}

}  // namespace

std::vector<Claim> open_question_claims() {
  return {
      computed("001-s25-Q1", Verdict::note, "Can attention be made more robust, by L1 normalisation for instance?",
               "by noise of r times the scores' deviation s softmax changes by sqrt(e^{r^2 s^2} - 1) while many keys "
               "share the weight, signed L1 by the same share at any s: L1 gains only where scores are wide (s above "
               "0.9 at r = 1/2), and normalised sigmoids change less than both there",
               robust_maps),
      computed("001-s25-Q2", Verdict::note, "Which entropy is best for a given task?",
               "to fetch the value of a match: the posterior's, H(match | scores) = log n - I(match; scores), where H "
               "equals the mean surprise of the match; both more and less entropy raise the error",
               best_entropy),
      computed("001-s25-Q3", Verdict::note, "Can the temperature adapt so that the entropy becomes the best one?",
               "Scale::target_entropy solves it row by row; descent on the loss by its gradient in lambda finds the "
               "best scale",
               adaptive_temperature),
      computed("001-s25-Q4", Verdict::note, "What is the entropy of attention over two modalities?",
               "H = H(modality) + mean H within; with equal laws of scores the masses are as the numbers of keys. What "
               "trained models do is open",
               two_modalities),
  };
}

}  // namespace isentropic::ledger::attention_entropy
