// Sections 21 and 22: attention to a neighbourhood, to one key, and to a sampled key.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/information/distribution.hpp"
#include "ledger/attention_entropy/subjects.hpp"
#include "ledger/scores_computed.hpp"

namespace isentropic::ledger::attention_entropy {
namespace {

void neighbourhood_weights(Check& check) {
  const std::size_t n = 24, d = 8;
  const Table q(n, d, check.random().normals(n * d)), k(n, d, check.random().normals(n * d));
  const auto visible = std::make_unique<bool[]>(n * n);
  // Every query sees itself and about a third of the others; the last one sees nothing.
  for (std::size_t i = 0; i + 1 < n; ++i)
    for (std::size_t j = 0; j < n; ++j) visible[i * n + j] = i == j || check.random().uniform() < 0.3;
  AttentionProblem options;
  options.scale = Scale::constant(1);
  options.mask =
      Mask::none().dense(View(visible.get(), {1, 1, static_cast<std::int64_t>(n), static_cast<std::int64_t>(n)}));
  const Table masked = weights_of(q, k, options);
  double off = 0, empty = 0;
  std::int64_t outside = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double normaliser = 0, own = 0, sum = 0, seen = 0;
    for (std::size_t j = 0; j < n; ++j) {
      double s = 0;
      for (std::size_t x = 0; x < d; ++x) s += q(i, x) * k(j, x);
      if (i == j) own = std::exp(s);
      if (visible[i * n + j]) normaliser += std::exp(s), seen += 1;
      outside += !visible[i * n + j] && masked(i, j) != 0;
      sum += masked(i, j);
    }
    if (i + 1 == n) {
      empty = sum;
      continue;
    }
    // As printed, every neighbour gets the score of the index i itself.
    off = std::max(off, std::abs(check.choose(sum, seen * own / normaliser) - 1));
  }
  check.near("row sums - 1, worst", off, 0, 1e-12);
  check.never("weights outside the neighbourhood", outside);
  check.near("sum of a row that sees nothing", empty, 0, 0);
}

void neighbourhood_entropy(Check& check) {
  std::int64_t above = 0, raised_by_top_k = 0;
  for (std::int64_t t = 0; t < check.effort(20000, 60000); ++t) {
    const std::vector<double> scores = check.random().normals(12, check.random().uniform(0, 5));
    const std::int64_t kept = check.random().integer(1, 12);
    const double h = entropy(weights_of(scores, 1, ScoreMap::top_k(kept)));
    above += h > std::log(static_cast<double>(kept)) + 1e-12;
    raised_by_top_k += h > entropy(weights_of(scores)) + 1e-12;
  }
  check.never("rows above log of the keys seen", above);
  check.never("rows whose entropy top-k raises", raised_by_top_k);
  check.near("equal scores, 16 keys of 64", entropy_of(std::vector<double>(16, 0.2)), std::log(16.0), 1e-14);

  const std::vector<double> led = {std::log(0.98), std::log(0.01), std::log(0.01)};
  check.near("H of (0.98, 0.01, 0.01)", entropy_of(led), 0.112, 5e-4);
  check.near("H without its top key", entropy_of(std::vector<double>(led.begin() + 1, led.end())), std::log(2.0),
             1e-14);
  const Estimate raised = mean_of(check.effort(5000, 20000), [&] {
    const std::vector<double> scores = check.random().normals(64, 5);  // the first 16 are as random as any 16
    return entropy_of(std::span(scores).first(16)) > entropy_of(scores) ? 1.0 : 0.0;
  });
  check.near("share of rows whose entropy rises for 16 random keys of 64, N(0, 25)", raised, 0.286,
             5 * std::sqrt(0.286 * 0.714 / 5000));
}

Table rows_of(const Table& table, std::size_t first, std::size_t count) {
  const auto begin = table.values.begin() + static_cast<std::ptrdiff_t>(first * table.columns);
  return {count, table.columns, {begin, begin + static_cast<std::ptrdiff_t>(count * table.columns)}};
}

// 64 positions, each attending to 16: those of its own segment, or its best.
void information_for_computation(Check& check) {
  const std::size_t n = 64, kept = 16, d = 8;
  const Table q(n, d, check.random().normals(n * d)), k(n, d, check.random().normals(n * d)),
      v(n, d, check.random().normals(n * d));
  AttentionProblem segments, best;
  segments.mask = Mask::none().segments(kept), best.map = ScoreMap::top_k(kept);

  // Segment by segment, so that no other key is available.
  std::int64_t of_segments = 0;
  double gap = 0;
  const Table whole = table_of(attend(q, k, v, segments).output);
  for (std::size_t first = 0; first < n; first += kept) {
    const Table part_q = rows_of(q, first, kept), part_k = rows_of(k, first, kept), part_v = rows_of(v, first, kept);
    of_segments += scores_computed(part_q, part_k, part_v);
    const Table part = table_of(attend(part_q, part_k, part_v).output);
    for (std::size_t i = 0; i < part.values.size(); ++i)
      gap = std::max(gap, std::abs(part.values[i] - whole.values[first * d + i]));
  }
  const std::int64_t scores = check.choose(of_segments, scores_computed(q, k, v, best));
  check.near("share of the scores computed to keep a quarter", static_cast<double>(scores) / (n * n), 0.25, 0);
  check.near("segments one by one less attention() with segments", gap, 0, 1e-12);

  // The loss of a row: KL(kept || all) = -log of the mass kept.
  const Table all = weights_of(q, k);
  for (const auto& [name, options] : {std::pair{"segments", &segments}, {"top-k", &best}}) {
    const Table sparse = weights_of(q, k, *options);
    double worst = 0;
    Mean lost;
    for (std::size_t i = 0; i < n; ++i) {
      double mass = 0;
      for (std::size_t j = 0; j < n; ++j) mass += sparse(i, j) > 0 ? all(i, j) : 0;
      worst = std::max(worst, std::abs(kl_divergence(sparse.row(i), all.row(i)) + std::log(mass)));
      lost.add(-std::log(mass));
    }
    check.near(std::string("KL(kept || all) + log of the mass kept, worst, ") + name, worst, 0, 1e-12);
    check.at_least(std::string("information lost, mean nats, ") + name, lost.mean(), 0.1);
  }
}

void argmax_entropy(Check& check) {
  double worst = 0;
  for (std::int64_t t = 0; t < check.effort(200, 2000); ++t)
    worst = std::max(worst, entropy(weights_of(check.random().normals(20), 1, ScoreMap::hard())));
  check.near("H of hard attention, worst", worst, 0, 0);
}

// Weights of many samples of a row: [samples, n].
Table gumbel_samples(const std::vector<double>& scores, double tau, std::int64_t samples, std::uint64_t seed) {
  const double one = 1;
  const auto n = static_cast<std::int64_t>(scores.size());
  const AttentionProblem problem{.query = View(&one, {1, 1, samples, 1}, {0, 0, 0, 1}),
                                 .key = View(scores.data(), {1, 1, n, 1}),
                                 .scale = Scale::constant(1),
                                 .map = ScoreMap::gumbel(tau, seed),
                                 .executor = &serial_executor()};
  std::vector<std::int64_t> rows(static_cast<std::size_t>(samples));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  return {rows.size(), scores.size(), attention_weights(problem, rows).to_doubles()};
}

void gumbel_softmax(Check& check) {
  const std::vector<double> scores = {1, 0, -1, 0.5}, p = weights_of(scores);
  const std::int64_t samples = check.effort(60000, 400000);
  const std::uint64_t seed = check.random().bits();
  struct Known {
    double tau, bias, entropy;
  };
  report::PlotCurve entropies{.label = "mean H of a sample", .x = {}, .y = {}},
      biases{.label = "largest bias of the mean weights", .x = {}, .y = {}};
  for (const Known& known :
       {Known{0.01, 0.0006, 0.011}, Known{1, 0.067, 0.899}, Known{2, 0.124, 1.196}, Known{100, 0.222, 1.386}}) {
    const Table a = gumbel_samples(scores, known.tau, samples, seed);
    std::vector<Mean> mean(p.size()), chosen(p.size());
    Mean h;
    for (std::size_t r = 0; r < a.rows; ++r) {
      const auto row = a.row(r);
      const auto best = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
      for (std::size_t j = 0; j < p.size(); ++j) mean[j].add(row[j]), chosen[j].add(best == j);
      double sum = 0;
      for (double x : row) sum -= x > 0 ? x * std::log(x) : 0;
      h.add(sum);
    }
    const std::string where = ", tau = " + short_text(known.tau);
    double bias = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
      bias = std::max(bias, std::abs(mean[j].mean() - p[j]));
      // At tau = 100 the samples are nearly uniform, and yet their argmax is distributed as softmax(s).
      check.near("share of argmax " + std::to_string(j) + where, chosen[j].estimate(), p[j]);
    }
    check.near("largest bias of the mean weights" + where, bias, known.bias, 0.002 + 5 * mean[0].estimate().error);
    check.near("mean H of a sample" + where, h.estimate(), known.entropy, 0.001);
    entropies.x.push_back(known.tau), entropies.y.push_back(h.mean());
    biases.x.push_back(known.tau), biases.y.push_back(bias);
  }
  check.plot({.title = "Gumbel-softmax of the scores 1, 0, -1, 0.5",
              .x_label = "temperature",
              .y_label = "nats, or weight",
              .x_scale = report::PlotScale::log,
              .curves = {entropies, biases}});
}

}  // namespace

std::vector<Claim> sparse_claims() {
  return {
      computed(
          "001-77", Verdict::corrected, "Sparse weights: a_i = e^{s_i} / sum over the neighbourhood N(i) of e^{s_j}",
          "a_ij = e^{s_ij} / sum over k in N(i) of e^{s_ik} for j in N(i), 0 elsewhere; a row that sees nothing is 0",
          neighbourhood_weights),
      computed("001-78", Verdict::holds, "The largest entropy is the log of the neighbourhood's size, below log n",
               "the entropy itself may rise when keys are dropped; keeping the top k never raises it",
               neighbourhood_entropy),
      computed("001-s21", Verdict::holds_if, "Sparse attention loses information and saves computation",
               "if it is known beforehand which keys to keep: top-k computes every score first. The loss is "
               "KL(kept || all) = -log of the mass kept",
               information_for_computation),
      computed("001-79", Verdict::holds, "Attention to the argmax alone has entropy 0", "", argmax_entropy),
      computed("001-80", Verdict::holds, "Gumbel-softmax samples from softmax(s) and tau sets how sharp a sample is",
               "the argmax follows softmax(s) exactly at any tau; the mean of the relaxed weights only as tau -> 0",
               gumbel_softmax),
  };
}

}  // namespace isentropic::ledger::attention_entropy
