// Attention as a weighted average and as a selection: 10.4.9, 10.4.10.
#include <algorithm>
#include <numbers>
#include <numeric>
#include <span>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "experiments/tools/random_laws.hpp"
#include "isentropic/information/attention_matrices.hpp"
#include "isentropic/information/entropy.hpp"
#include "ledger/bottleneck/subjects.hpp"

namespace isentropic::ledger::bottleneck {
namespace {

constexpr double kAverageRounding = 1e-12;

Table normals(Random& random, std::size_t rows, std::size_t columns, double scale = 1) {
  return {rows, columns, random.normals(rows * columns, scale)};
}

// ---- 10.4.9 ----

void output_is_a_convex_combination(Check& check) {
  double sum_error = 0, least_weight = 1, outside = 0, longer = -1e9, recombined = 0;
  const auto length = [](std::span<const double> v) {
    return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.));
  };
  for (std::int64_t t = 0; t < check.effort(100, 1000); ++t) {
    const Table query = normals(check.random(), 5, 4, 2), key = normals(check.random(), 7, 4);
    const Table value = normals(check.random(), 7, 3);
    const Table weights = weights_of(query, key), output = table_of(attend(query, key, value).output);
    for (std::size_t q = 0; q < weights.rows; ++q) {
      double sum = 0;
      for (double a : weights.row(q)) sum += a, least_weight = std::min(least_weight, a);
      sum_error = std::max(sum_error, std::abs(sum - 1));
    }
    double longest = 0;
    for (std::size_t j = 0; j < value.rows; ++j) longest = std::max(longest, length(value.row(j)));
    for (std::size_t q = 0; q < output.rows; ++q) longer = std::max(longer, length(output.row(q)) - longest);
    const Table by_hand = product(weights, value);
    for (std::size_t c = 0; c < value.columns; ++c) {
      double low = value(0, c), high = low;
      for (std::size_t j = 1; j < value.rows; ++j) low = std::min(low, value(j, c)), high = std::max(high, value(j, c));
      for (std::size_t q = 0; q < output.rows; ++q) {
        outside = std::max({outside, low - output(q, c), output(q, c) - high});
        recombined = std::max(recombined, std::abs(output(q, c) - by_hand(q, c)));
      }
    }
  }
  check.near("output - sum of weights times values", recombined, 0, kAverageRounding);
  check.near("sum of a row's weights - 1", sum_error, 0, kAverageRounding);
  check.at_least("least weight", least_weight, 0);
  check.at_most("distance outside the values' box", outside, 0, kAverageRounding);
  check.at_most("an output's length less the longest value's", longer, 0, kAverageRounding);
}

// ---- 10.4.10 ----

void entropy_of_the_index(Check& check) {
  // Four positions with equal scores; the first two hold one content, the last two another.
  const std::vector<double> weights = weights_of(std::vector<double>(4, 0.));
  check.near("H(index), bits", to_bits(entropy_of(std::vector<double>(4, 0.))), 2, kAverageRounding);
  const std::vector<double> contents = {weights[0] + weights[1], weights[2] + weights[3]};
  check.near("H(content), bits", to_bits(entropy(contents)), 1, kAverageRounding);
  // Five queries over six keys.
  const Table scores = {{1.551743694916119, -4.236120084370136, -.6873887001989623, .4203458546722039,
                         -2.9685371679927024, 1.9704311657163753},
                        {.3574268582367924, 2.013713541414168, 1.9183697173490222, -1.9597091327493537,
                         -1.5955915157790763, -.40666497154380515},
                        {1.4959194519262693, 1.7019345819510854, -1.4193697414173698, -1.2143943705106626,
                         -1.5956458303330572, -1.168476458314694},
                        {-.4758467551294522, -.26363009538052884, 4.116228936995422, -1.0128073195728597,
                         -.5774487340584439, .9171554581880558},
                        {-1.9061481311398507, -.7372542982448199, .02663696232202605, 1.5482918940345292,
                         -2.632029717493513, 2.7429389145740464}};
  Table matrix(5, 6);
  for (std::size_t q = 0; q < 5; ++q) {
    const std::vector<double> row = weights_of(scores.row(q));
    std::copy(row.begin(), row.end(), matrix.row(q).begin());
  }
  const AttentionEntropies entropies = attention_entropies(matrix);
  const auto [least, most] = std::minmax_element(entropies.per_query.begin(), entropies.per_query.end());
  check.near("least H of a query", *least, .36, .005);
  check.near("largest H of a query", *most, 1.16, .005);
  check.near("mean over queries, H(J|Q)", entropies.mean, .907, .0005);
  check.near("of the mean weights, H(J)", entropies.marginal, 1.564, .0005);
  check.at_most("H(J|Q) against H(J)", entropies.mean, entropies.marginal);
}

void entropy_tells_diffuse_from_concentrated(Check& check) {
  const std::vector<double> deviations = {0, .5, 1, 2, 3, 5, 10};
  const std::int64_t draws = check.effort(500, 5000);
  std::vector<Mean> keys(deviations.size());
  std::int64_t disorder = 0, outside = 0;
  for (std::int64_t t = 0; t < draws; ++t) {
    const std::vector<double> direction = check.random().normals(64);
    double last = 65;
    for (std::size_t x = 0; x < deviations.size(); ++x) {
      const double effective = std::exp(entropy_of(direction, deviations[x]));
      outside += effective < 1 || effective > 64 + 1e-9;
      disorder += effective > last + 1e-9;
      last = effective;
      keys[x].add(effective);
    }
  }
  check.never("exp(H) outside [1, n]", outside);
  check.never("exp(H) grows when the scores are spread", disorder);
  check.near("effective keys of 64, equal scores", keys[0].mean(), 64, 1e-9);
  // n e^{-s^2/2} holds for long rows; 64 keys have a little more.
  const Estimate wide =
      mean_of(check.effort(20, 200), [&] { return std::exp(entropy_of(check.random().normals(16384))) / 16384; });
  check.near("share of 16384 keys in effect, scores of deviation 1", wide, std::exp(-.5), 1e-3);
  check.as_quoted("effective keys of 64, deviation 1", keys[2], 38.8, 1, .05);
  check.as_quoted("effective keys of 64, deviation 3", keys[4], 8.0, 1, .05);
  check.as_quoted("effective keys of 64, deviation 10", keys[6], 1.2, 1, .05);
  std::vector<double> means;
  for (const Mean& x : keys) means.push_back(x.mean());
  report::PlotCurve formula{"64 exp(-s^2 / 2), for many keys", {}, {}, report::CurveStyle::formula};
  for (double s = 0; 64 * std::exp(-s * s / 2) >= 1; s += .1)
    formula.x.push_back(s), formula.y.push_back(64 * std::exp(-s * s / 2));
  check.plot({.title = "Effective keys exp(H) of 64",
              .x_label = "standard deviation of the scores",
              .y_label = "exp(H)",
              .y_scale = report::PlotScale::log,
              .curves = {{"measured", deviations, means}, formula}});
}

// ---- def 10.4.8 ----

void roles_of_query_key_value(Check& check) {
  const std::size_t n = 6, d = 8;
  Random& random = check.random();
  const Table x = normals(random, n, d);
  const Table q = product(x, normals(random, d, 4)), k = product(x, normals(random, d, 4)),
              v = product(x, normals(random, d, 5));
  const Table output = table_of(attend(q, k, v).output);
  double error = 0;
  for (std::size_t i = 0; i < n; ++i) {  // softmax(q k / sqrt(4)) v in plain loops
    std::vector<double> a(n), o(5);
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      double s = 0;
      for (std::size_t c = 0; c < 4; ++c) s += q(i, c) * k(j, c);
      sum += a[j] = std::exp(s / 2);
    }
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t c = 0; c < 5; ++c) o[c] += a[j] / sum * v(j, c);
    for (std::size_t c = 0; c < 5; ++c) error = std::max(error, std::abs(o[c] - output(i, c)));
  }
  check.near("three linear maps, then softmax(q k) v by hand", error, 0, 1e-11);
  double moved = 0, uneven = 0;
  for (double o : table_of(attend(q, k, Table(n, 5, 1.5)).output).values) moved = std::max(moved, std::abs(o - 1.5));
  for (double a : weights_of(q, Table(n, 4, .7)).values) uneven = std::max(uneven, std::abs(a - 1. / 6));
  check.near("constant values: the output does not see q and k", moved, 0, 1e-14);
  check.near("constant keys: uniform weights", uneven, 0, 1e-14);
}

// All sequences of `length` symbols through one random attention layer; bits of the distinct outputs, codes rounded to
// nine decimals.
struct Kept {
  double all_outputs = 0, first_output = 0;
  double first_rounded = 0;  // the first output rounded to integers
  double least_weight = 1;
  Table first = {};  // the first output of each sequence
};

// Bits that a reader of the first output, with noise of this deviation, has about the sequence, by Monte Carlo.
Estimate bits_through_noise(const Table& first, double deviation, std::int64_t draws, Random& random) {
  const auto last = static_cast<std::int64_t>(first.rows) - 1;
  return mean_of(draws, [&] {
    const auto sent = static_cast<std::size_t>(random.integer(0, last));
    std::vector<double> read(first.row(sent).begin(), first.row(sent).end());
    for (double& z : read) z += deviation * random.normal();
    std::vector<double> logs;
    for (std::size_t s = 0; s < first.rows; ++s) {
      double square = 0;
      for (std::size_t c = 0; c < read.size(); ++c) square += (read[c] - first(s, c)) * (read[c] - first(s, c));
      logs.push_back(-square / (2 * deviation * deviation));
    }
    return to_bits(logs[sent] - log_partition(record_of(logs)) + std::log(static_cast<double>(first.rows)));
  });
}

Kept information_kept(Random& random, const ScoreMap& map, double scale) {
  const std::size_t symbols = 4, length = 5, d = 8, sequences = 1024;
  const Table embedding = normals(random, symbols, d), position = normals(random, length, d, .7);
  const double gain = 1 / std::sqrt(static_cast<double>(d));
  const Table to_query = normals(random, d, d, gain), to_key = normals(random, d, d, gain),
              to_value = normals(random, d, d, gain);
  AttentionProblem options;
  options.map = map;
  options.scale = Scale::constant(scale);
  Table all(sequences, length * d), first(sequences, d), rounded(sequences, d);
  Kept out;
  out.first.rows = sequences, out.first.columns = d;
  for (std::size_t s = 0; s < sequences; ++s) {
    Table x = position;
    for (std::size_t i = 0, rest = s; i < length; ++i, rest /= symbols)
      for (std::size_t c = 0; c < d; ++c) x(i, c) += embedding(rest % symbols, c);
    const Table query = product(x, to_query), key = product(x, to_key);
    Table o = table_of(attend(query, key, product(x, to_value), options).output);
    out.first.values.insert(out.first.values.end(), o.values.begin(), o.values.begin() + d);
    std::transform(o.values.begin(), o.values.begin() + d, rounded.row(s).begin(),
                   [](double value) { return std::round(value); });
    for (double& value : o.values) value = std::round(value * 1e9);
    std::copy(o.values.begin(), o.values.end(), all.row(s).begin());
    std::copy_n(o.values.begin(), d, first.row(s).begin());
    for (double a : weights_of(query, key, options).values) out.least_weight = std::min(out.least_weight, a);
  }
  out.all_outputs = to_bits(entropy_from_symbols(all, EntropyEstimator::plug_in));
  out.first_output = to_bits(entropy_from_symbols(first, EntropyEstimator::plug_in));
  out.first_rounded = to_bits(entropy_from_symbols(rounded, EntropyEstimator::plug_in));
  return out;
}

void attention_alone_does_not_compress(Check& check) {
  const double scale = 1 / std::sqrt(8.);
  const Kept limited = information_kept(check.random(), check.choose(ScoreMap::hard(), ScoreMap::softmax()), scale);
  check.at_most("one output keeps less than the 10 bits it was given", limited.first_output, 9.9);
  double least_all = 10, least_first = 10, most_rounded = 0;
  Mean log_least_weight, sharp_all, sharp_first;
  for (std::int64_t t = 0; t < check.effort(12, 100); ++t) {
    const Kept soft = information_kept(check.random(), ScoreMap::softmax(), scale);
    least_all = std::min(least_all, soft.all_outputs), least_first = std::min(least_first, soft.first_output);
    most_rounded = std::max(most_rounded, soft.first_rounded);
    log_least_weight.add(std::log(soft.least_weight));
    const Kept sharp = information_kept(check.random(), ScoreMap::softmax(), 20);
    sharp_all.add(sharp.all_outputs), sharp_first.add(sharp.first_output);
  }
  check.near("softmax: bits kept by all outputs, any layer", least_all, 10, 1e-9);
  check.near("softmax: bits kept by one output alone, any layer", least_first, 10, 1e-9);
  check.as_quoted("softmax: log of the least weight: no key is left out", log_least_weight, std::log(2.4e-4), 1, .02);
  check.as_quoted("scores 57 times as large: bits kept by all outputs, to nine decimals", sharp_all, 9.80, 1, .005);
  check.as_quoted("scores 57 times as large: bits kept by one output", sharp_first, 5.71, 1, .005);
  check.at_most("softmax, one output read in whole numbers: bits, any layer", most_rounded, 9.9);
  // top-1 copies one of 5 x 4 values.
  const Kept one = information_kept(check.random(), ScoreMap::hard(), scale);
  check.at_most("one key: bits kept by one output", one.first_output, std::log2(20.), kAverageRounding);
  // top-2: 10 pairs of positions, 16 pairs of symbols, and the querying symbol.
  const Kept two = information_kept(check.random(), ScoreMap::top_k(2), scale);
  check.at_most("two keys: bits kept by one output", two.first_output, std::log2(640.), kAverageRounding);
  const Kept noisy = information_kept(check.random(), ScoreMap::softmax(), scale);
  const Estimate read = bits_through_noise(noisy.first, .3, check.effort(200, 2000), check.random());
  check.at_most("softmax, one output read through noise of .3: bits, with five errors", read.mean + 5 * read.error, 8);
}

}  // namespace

std::vector<Claim> weighted_average_claims() {
  return {
      computed("000-10.4.9", Verdict::holds, "The output of attention is a convex combination",
               "of the values; the weights are a distribution over keys", output_is_a_convex_combination),
      computed("000-10.4.10a", Verdict::slip,
               "The entropy of the weights is written as an entropy of the content given q",
               "it is H(J | q) of the selected index J; per query, mean over queries and marginal differ",
               entropy_of_the_index),
      computed("000-10.4.10b", Verdict::holds, "High entropy is diffuse attention, low entropy concentrated",
               "exp(H) counts effective keys, from 1 to n", entropy_tells_diffuse_from_concentrated),
      computed("000-def10.4.8a", Verdict::holds, "Queries and keys choose where to look, values what is passed on", "",
               roles_of_query_key_value),
      computed("000-def10.4.8b", Verdict::holds_if,
               "Attention is an information bottleneck: it keeps k << n positions and what they say about Y",
               "only with a limit added (top-k, noise, quantisation; a price on I(Z;X), see 10.4.18a); softmax alone "
               "keeps everything, and what should be kept is I(Z;Y)",
               attention_alone_does_not_compress),
  };
}

}  // namespace isentropic::ledger::bottleneck
