// Entropy under temperature, and what cross-attention transmits: 10.4.14, 10.4.15.
#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "experiments/tools/random_laws.hpp"
#include "isentropic/information/mutual_information.hpp"
#include "ledger/bottleneck/subjects.hpp"

namespace isentropic::ledger::bottleneck {
namespace {

void entropy_of_attention_is_bounded(Check& check) {
  std::int64_t outside = 0;
  double at_uniform = 0;
  for (std::size_t n : {1U, 2U, 17U, 256U}) {
    for (double deviation : {0., .1, 1., 10., 1000.}) {
      const auto rows = static_cast<std::size_t>(check.effort(50, 1000));
      const Table scores(rows, n, check.random().normals(rows * n, deviation));
      for (const Record& record : records_of(scores)) {
        outside += entropy(record) < 0 || entropy(record) > std::log(static_cast<double>(n));
        if (deviation == 0)
          at_uniform = std::max(at_uniform, std::abs(entropy(record) - std::log(static_cast<double>(n))));
      }
    }
  }
  check.never("H outside [0, log n]", outside);
  check.near("equal scores: H - log n", at_uniform, 0, 1e-12);
  check.near("one score 50 above the rest: H", entropy_of(std::vector<double>{0, 50, 0, 0}), 0, 1e-18);
  // The kernel's entropy against that of the weights it returns.
  const std::vector<double> scores = check.random().normals(100, 2);
  check.near("H of the record - H of the weights", entropy_of(scores) - entropy(weights_of(scores)), 0, 1e-12);
}

// ---- Temperature ----

const std::vector<double> kScores = {
    -0.6763749406509446, 0.6281822626713338,  -1.9184750934557302, 0.8304281756549423,
    -1.176832765628795,  0.10067398982419512, -0.5456527580369398, 0.6072875664308425,
    0.16585770689448762, -0.9426834497153058, 0.3949595297690878,  1.4987323601537863,
    -0.8038799149310767, 0.669659137137703,   -1.403375479485709,  -1.1617637781284353};

std::vector<double> with_tie() {
  std::vector<double> out = kScores;
  for (std::size_t x = 0; x < 3; ++x) out[x] = 2;
  return out;
}

void limits_of_temperature(Check& check) {
  const auto at = [](const std::vector<double>& scores, double temperature) {
    return entropy_of(scores, 1 / temperature);
  };
  check.near("H at T = .0001", at(check.choose(kScores, with_tie()), 1e-4), 0, 1e-9);
  check.near("three scores tied at the top: H at T = .0001", at(with_tie(), 1e-4), std::log(3), 1e-9);
  check.near("H at T = 10000", at(kScores, 1e4), std::log(16), 1e-7);
  check.near("the same, as quoted", at(kScores, 1e4), 2.77259, 5e-6);
  check.near("log n - H at T = 1000", std::log(16) - at(kScores, 1e3), 4.4203e-7, 1e-11);
  Mean scores;
  for (double s : kScores) scores.add(s);
  check.near("the same: Var(s) / (2 T^2)", std::log(16) - at(kScores, 1e3), scores.variance() * 15 / 16 / 2e6, 1e-11);
  std::vector<double> temperatures, entropies;
  std::int64_t falls = 0;
  for (double log_t = -3; log_t <= 4.01; log_t += .25) {
    temperatures.push_back(std::pow(10, log_t)), entropies.push_back(at(kScores, temperatures.back()));
    falls += entropies.size() > 1 && entropies.back() < entropies[entropies.size() - 2] - 1e-12;
  }
  check.never("H falls as T rises", falls);
  for (double t : {.5, 1., 3.}) {
    const double step = 1e-4 * t;
    const double slope_of_entropy = (at(kScores, t + step) - at(kScores, t - step)) / (2 * step);
    // The record's variance is that of s / T.
    const double predicted = score_variance(record_of(kScores, 1 / t)) / t;
    check.near("dH/dT = Var(s) / T^3 at T = " + short_text(t), slope_of_entropy, predicted, 1e-7);
  }
  const std::vector<double> coldest = weights_of(kScores, 1, ScoreMap::hard());
  check.near("T = 0: all weight on the largest score", coldest[11], 1, 0);
  check.plot({.title = "Entropy of 16 scores against temperature",
              .x_label = "T",
              .y_label = "H, nats",
              .x_scale = report::PlotScale::log,
              .curves = {{"measured", temperatures, entropies},
                         {"log 16", {1e-3, 1e4}, {std::log(16), std::log(16)}, report::CurveStyle::bound}}});
}

// ---- 10.4.15: four stored bits, a query for one of them ----

struct Passed {
  double exact = 0, thresholded = 0;  // I(output; queried bit) in bits, mean over the four queries
};

Passed information_passed(double sharpness) {
  Table keys(4, 4), queries(4, 4), messages(4, 16);
  for (std::size_t slot = 0; slot < 4; ++slot) {
    keys(slot, slot) = 1, queries(slot, slot) = sharpness;
    for (std::size_t m = 0; m < 16; ++m) messages(slot, m) = static_cast<double>(m >> slot & 1);
  }
  AttentionProblem options;
  options.scale = Scale::constant(1);
  // One output column per message, 16 in all.
  const Table read = table_of(attend(queries, keys, messages, options).output);
  Passed out;
  for (std::size_t query = 0; query < 4; ++query) {
    Table output(16, 1), readout(16, 1), bit(16, 1);
    for (std::size_t m = 0; m < 16; ++m) {
      output(m, 0) = std::round(read(query, m) * 1e9);
      readout(m, 0) = read(query, m) > .5 + 1e-9;
      bit(m, 0) = messages(query, m);
    }
    out.exact += to_bits(discrete_mutual_information(output, bit, EntropyEstimator::plug_in)) / 4;
    out.thresholded += to_bits(discrete_mutual_information(readout, bit, EntropyEstimator::plug_in)) / 4;
  }
  return out;
}

void cross_attention_passes_information(Check& check) {
  const std::vector<double> sharpness = {0, .5, 1, 2, 4, 8}, quoted = {.124, .456, .456, 1, 1, 1};
  std::vector<double> measured;
  std::int64_t falls = 0;
  for (std::size_t x = 0; x < sharpness.size(); ++x) {
    const Passed passed = information_passed(sharpness[x]);
    const std::string at = " at key scale " + short_text(sharpness[x]);
    check.near("thresholded readout, bits," + at, passed.thresholded, quoted[x], 5e-4);
    check.near("exact output, bits," + at, passed.exact, x == 0 ? .219 : 1, 5e-4);
    measured.push_back(passed.thresholded);
    falls += x > 0 && measured[x] < measured[x - 1] - 1e-12;
  }
  check.never("the readout falls as keys sharpen", falls);
  // Decoder and encoder of different lengths; constant values carry no information about the keys.
  Random& random = check.random();
  const Table query(3, 4, random.normals(12)), value(6, 5, 1.);
  double seen = 0;
  std::int64_t wrong_shape = 0;
  for (int t = 0; t < 20; ++t) {
    const Table output = table_of(attend(query, Table(6, 4, random.normals(24)), value).output);
    wrong_shape += output.rows != query.rows || output.columns != value.columns;
    for (double o : output.values) seen = std::max(seen, std::abs(o - 1));
  }
  check.never("output not of the decoder's length and the values' width", wrong_shape);
  check.near("constant values: what the output sees of the keys", seen, 0, 1e-14);
  check.plot(
      {.title = "Bits passed to the decoder about the bit it asks for",
       .x_label = "key scale",
       .y_label = "bits, thresholded readout",
       .curves = {{"measured", sharpness, measured}, {"quoted", sharpness, quoted, report::CurveStyle::formula}}});
}

}  // namespace

std::vector<Claim> transfer_claims() {
  return {
      computed("000-10.4.14a", Verdict::holds, "The entropy of attention over n keys lies in [0, log n]", "",
               entropy_of_attention_is_bounded),
      computed("000-10.4.14b", Verdict::holds_if, "Hot attention has entropy log n, cold attention 0",
               "where the largest score is unique; m tied scores leave log m. dH/dT = Var(s) / T^3",
               limits_of_temperature),
      computed("000-10.4.15", Verdict::holds, "Cross-attention carries information from encoder to decoder",
               "as much as the sharpness of the keys and data processing allow", cross_attention_passes_information),
  };
}

}  // namespace isentropic::ledger::bottleneck
