// Section 12: log-sum-exp as a smooth maximum, softmax as smooth hard attention.
#include <algorithm>
#include <cmath>

#include "experiments/tools/kernels.hpp"
#include "isentropic/theory/sensitivity.hpp"
#include "isentropic/theory/simplex.hpp"
#include "ledger/attention_entropy/subjects.hpp"

namespace isentropic::ledger::attention_entropy {
namespace {

void sandwich(Check& check) {
  std::int64_t below = 0, above = 0;
  for (std::int64_t t = 0; t < check.effort(100, 400); ++t) {
    const auto n = static_cast<std::size_t>(check.random().integer(1, 49));
    const Table scores(50, n, check.random().normals(50 * n, check.random().uniform(0, 20)));
    const std::vector<Record> records = records_of(scores);
    for (std::size_t r = 0; r < scores.rows; ++r) {
      const double largest = *std::max_element(scores.row(r).begin(), scores.row(r).end());
      below += log_partition(records[r]) < largest - 1e-12;
      above += log_partition(records[r]) > largest + std::log(static_cast<double>(n)) + 1e-12;
    }
  }
  check.never("rows whose log-sum-exp is below the maximum", below);
  check.never("rows whose log-sum-exp is above the maximum + log n", above);
}

// n keys of score 0, with the first raised by the gap.
std::vector<double> led_by(double gap, std::size_t n) {
  std::vector<double> scores(n, 0.0);
  scores[0] = gap;
  return scores;
}

void near_the_maximum(Check& check) {
  const std::size_t n = 1000;
  const Table values(n, 4, check.random().normals(n * 4));
  // The gap relative to log(n - 1) = 6.9: well beyond it, or merely far from 0.
  const double gap = check.choose(15.0, 3.0);
  const std::vector<double> scores = led_by(gap, n), output = output_of(scores, values);
  const Record record = record_of(scores);
  double distance = 0;
  for (std::size_t x = 0; x < 4; ++x) distance += std::pow(output[x] - values(0, x), 2);
  distance = std::sqrt(distance);
  check.near("largest weight of 1000", peak(record), 1, 0.01);
  check.near("log-sum-exp - maximum", log_partition(record) - gap, 0, 0.01);
  check.near("|soft output - hard output|", distance, 0, 0.05);
  check.at_most("log-sum-exp - maximum, against (n - 1) e^-gap", log_partition(record) - gap,
                log_sum_exp_excess_bound(1000, gap));
  check.at_most("|soft - hard|, against (1 - a_max) diameter", distance,
                hard_attention_distance_bound(peak(record), diameter(values)));
  Table apart(n, 1, 1.0);  // all others at the far end
  apart(0, 0) = 0;
  check.near("|soft - hard| where it is attained", output_of(scores, apart).front(),
             hard_attention_distance_bound(peak(record), 1), 1e-13);
  for (const auto& [lead, known] : {std::pair{3.0, 0.020}, std::pair{7.0, 0.523}, std::pair{15.0, 0.9997}})
    check.near("largest weight at gap " + std::to_string(static_cast<int>(lead)), peak(record_of(led_by(lead, n))),
               known, 5e-4);

  report::Plot plot{
      .title = "One key leads n - 1 equal ones", .x_label = "gap", .y_label = "largest weight", .curves = {}};
  for (const std::size_t keys : {10u, 1000u}) {
    report::PlotCurve curve{.label = "n = " + std::to_string(keys), .x = {}, .y = {}};
    for (double lead = 0; lead <= 15; lead += 0.5) {
      curve.x.push_back(lead);
      curve.y.push_back(peak(record_of(led_by(lead, keys))));
    }
    plot.curves.push_back(std::move(curve));
  }
  check.plot(std::move(plot));
}

void hard_attention(Check& check) {
  const std::size_t n = 50;
  const Table values(n, 3, check.random().normals(n * 3));
  std::vector<double> scores = check.random().normals(n);
  const auto best = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  const std::vector<double> a = weights_of(scores, 1, ScoreMap::hard());
  check.near("weight of the largest score", a[best], 1, 0);
  check.never("other weights that are not 0", std::count_if(a.begin(), a.end(), [](double x) { return x != 0; }) - 1);

  AttentionProblem options;
  options.map = ScoreMap::hard();
  options.scale = Scale::constant(1);
  const AttentionResult result = attend(Table(1, 1, {1}), Table(n, 1, scores), values, options);
  double off = 0;
  for (std::size_t x = 0; x < 3; ++x)
    off = std::max(off, std::abs(result.output.at({0, 0, 0, static_cast<std::int64_t>(x)}) - values(best, x)));
  check.near("output - its value", off, 0, 0);
  scores.assign(n, 0.5);
  check.near("all tie: weight of the first", weights_of(scores, 1, ScoreMap::hard())[0], 1, 0);
}

}  // namespace

std::vector<Claim> smooth_maximum_claims() {
  return {
      computed("001-52", Verdict::holds, "max s <= log sum e^s <= max s + log n", "", sandwich),
      computed("001-53,54,56", Verdict::holds_if,
               "Where one score leads, log-sum-exp is the maximum, the weights are one-hot and soft attention is hard",
               "where it leads by much more than log(n - 1): errors at most (n - 1) e^-gap and (1 - a_max) diameter of "
               "the values",
               near_the_maximum),
      computed("001-55", Verdict::holds, "Hard attention outputs the value of the largest score",
               "ties need a rule; here the first wins", hard_attention),
  };
}

}  // namespace isentropic::ledger::attention_entropy
