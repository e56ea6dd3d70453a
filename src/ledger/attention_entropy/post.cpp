// The post: how much entropy there is, what large scores do to it, and what remains of it with cosines.
#include <cmath>

#include "experiments/tools/estimate.hpp"
#include "isentropic/information/distribution.hpp"
#include "isentropic/theory/bounded_scores.hpp"
#include "ledger/attention_entropy/descent.hpp"
#include "ledger/attention_entropy/levels.hpp"
#include "ledger/attention_entropy/quoted_draws.hpp"
#include "ledger/attention_entropy/subjects.hpp"

namespace isentropic::ledger::attention_entropy {
namespace {

void range_of_entropy(Check& check) {
  std::int64_t below = 0, above = 0;
  for (std::int64_t t = 0; t < check.effort(2000, 20000); ++t) {
    const auto n = static_cast<std::size_t>(check.random().integer(1, 64));
    // From the weights: the kernel clamps its own entropy to the range.
    const double h = entropy(weights_of(check.random().normals(n, check.random().uniform(0, 30))));
    below += h < -1e-12;
    above += h > std::log(static_cast<double>(n)) + 1e-12;
  }
  check.never("rows below 0", below);
  check.never("rows above log n", above);
  std::vector<double> scores(8, 0.0);
  check.near("H of equal scores, n = 8", entropy(weights_of(scores)), std::log(8.0), 1e-14);
  scores[0] = 30;
  const double nearly = entropy(weights_of(scores));
  check.between("H at a gap of 30: 0 is a limit", nearly, 1e-13, 1e-10);
}

void saturated_start(Check& check) {
  const std::size_t n = 32;
  // Spread: rows of N(0, 1000^2). Size alone: every score is 1000.
  const Table spread(200, 64, check.random().normals(200 * 64, 1000)), size_alone(200, 64, 1000.0);
  Mean entropies;
  for (const Record& record : records_of(check.choose(spread, size_alone))) entropies.add(entropy(record));
  check.at_most("mean H of scores of the order 1000, n = 64", entropies.mean(), 0.05);

  check.near("H of 64 scores of 1000", entropy_of(size_alone.row(0)), std::log(64.0), 1e-14);

  const FetchTask task{kFetchedValues, 3};
  const int steps = 3000;
  std::vector<double> start(n, check.choose(0.0, 20.0));
  start[7] = 20;
  const Learning saturated = learn_to_fetch(task, start, steps);
  check.near("gradient where one wrong key leads by 20", saturated.first_gradient, 5e-7, 5e-8);
  check.near("loss there after 3000 steps", saturated.loss.back(), 5.21, 0.005);
  check.at_least("loss left after all steps", saturated.loss_left(), 0.999);

  const Learning flat = learn_to_fetch(task, std::vector<double>(n, 0.0), 60);
  check.near("steps to a tenth of the loss from equal scores", static_cast<double>(flat.steps_to(0.1)), 7, 0);
  start.assign(n, 0.0), start[7] = 10;
  check.near("steps where the wrong key leads by 10",
             static_cast<double>(learn_to_fetch(task, start, 60).steps_to(0.1)), 23, 0);
  const FetchTask other = fetch_task(n, 8, &check.random());
  check.between("steps from equal scores to fetch other values",
                static_cast<double>(learn_to_fetch(other, std::vector<double>(n, 0.0), 60).steps_to(0.1)), 1, 50);
  report::Plot plot{.title = "Learning to fetch one of 32 values", .x_label = "step", .y_label = "loss", .curves = {}};
  for (const auto& [label, learning] :
       {std::pair{"from equal scores", &flat}, std::pair{"one wrong key leads by 20", &saturated}}) {
    report::PlotCurve curve{.label = label, .x = {}, .y = {}};
    for (std::size_t t = 0; t < 60; ++t)
      curve.x.push_back(static_cast<double>(t)), curve.y.push_back(learning->loss[t]);
    plot.curves.push_back(std::move(curve));
  }
  check.plot(std::move(plot));
}

// The argmax of a function with a single maximum in [low, high].
template <class Function>
double greatest_at(Function&& function, double low, double high) {
  const double golden = (std::sqrt(5.0) - 1) / 2;
  while (high - low > 1e-7) {
    const double left = high - golden * (high - low), right = low + golden * (high - low);
    (function(left) < function(right) ? low : high) = function(left) < function(right) ? left : right;
  }
  return (low + high) / 2;
}

void floor_of_cosines(Check& check) {
  const double gap = bounded_entropy_gap(cosine_score_range(1));
  const std::size_t n = 20000;
  std::vector<double> scores(n, -1.0);
  std::fill_n(scores.begin(), std::lround(bounded_top_share(2) * static_cast<double>(n)), 1.0);
  check.near("log n - H, the best share of 20000 keys at +1", std::log(static_cast<double>(n)) - entropy_of(scores),
             gap, 1e-8);
  check.near("the same against the printed 0.4745", std::log(static_cast<double>(n)) - entropy_of(scores), 0.4745,
             5e-5);

  // With 1e12 keys, rounding the number at +1 no longer matters: the share with the greatest gap, by golden-section
  // search.
  const auto gap_at = [](double share) {
    const std::int64_t all = 1'000'000'000'000, top = std::llround(share * 1e12);
    return std::log(1e12) - entropy(merge(record_of_copies(2, top), record_of_copies(0, all - top)));
  };
  const double share = greatest_at(gap_at, 0.01, 0.99);
  check.near("greatest gap over all shares at +1", gap_at(share), gap, 1e-8);
  check.near("the same, quoted", gap_at(share), 0.4744746471, 1e-8);
  check.near("share at +1 there, quoted", share, 0.20551319, 1e-5);
  // D = mean of e^{s + 1}.
  check.near("D there, quoted", 1 + share * std::expm1(2.0), 2.31303529, 1e-4);
  check.near("share at +1 by the closed form, quoted", bounded_top_share(2), 0.20551319, 5e-9);

  const double least = least_two_level_entropy(60, 2, 59);
  check.near("log 60 - least H of scores at -1 and 1", std::log(60.0) - least, 0.474356, 5e-7);
  std::int64_t inside = 0, deeper = 0;
  for (std::int64_t t = 0; t < check.effort(20, 100); ++t) {
    const CubeDescent end = descend_in_cube(60, 1, &check.random());
    inside += static_cast<std::int64_t>(end.inside);
    deeper += end.entropy < least - 1e-12;
  }
  check.never("scores that descent from random ones leaves inside the interval", inside);
  check.never("descents that end deeper", deeper);

  std::int64_t below = 0;
  Table draws(static_cast<std::size_t>(check.effort(500, 4000)), 200);
  for (double& s : draws.values) s = check.random().uniform(-1, 1);
  for (std::size_t r = 0; r < draws.rows / 2; ++r)
    for (double& s : draws.row(r)) s = check.random().uniform() < 0.2055 ? 1 : -1;
  for (const Record& record : records_of(draws)) below += entropy(record) < std::log(200.0) - gap - 1e-12;
  check.never("rows of scores in [-1, 1] below log n - 0.47447465", below);
}

void smaller_temperature(Check& check) {
  // log n = 6.9 against 2 / tau = 28.6; log n = 20.7 against 2 / tau = 20.
  const std::int64_t n = check.choose<std::int64_t>(1024, 1'000'000'000);
  const double tau = check.choose(0.07, 0.1);
  check.near("floor of H at a small temperature", least_two_level_entropy(n, 2 / tau, 64), 0, 0.01);
  check.near("log 1024 - floor at tau = 1, for contrast", std::log(1024.0) - least_two_level_entropy(1024, 2, 400),
             bounded_entropy_gap(2), 1e-5);

  report::Plot plot{.title = "Least entropy of cosines at a temperature",
                    .x_label = "temperature",
                    .y_label = "H (nats)",
                    .x_scale = report::PlotScale::log,
                    .curves = {}};
  for (const std::int64_t keys : {64, 1024, 65536}) {
    report::PlotCurve measured{.label = "n = " + std::to_string(keys), .x = {}, .y = {}};
    for (double t = 0.05; t < 1.05; t *= 1.25) {
      measured.x.push_back(t);
      measured.y.push_back(bounded_entropy_floor(keys, 2 / t).entropy);
    }
    measured.style = report::CurveStyle::formula;
    plot.curves.push_back(std::move(measured));
  }
  check.plot(std::move(plot));
}

}  // namespace

std::vector<Claim> post_claims() {
  return {
      computed("001-P4", Verdict::holds, "The entropy of softmax weights lies in [0, log n]",
               "finite scores reach log n but not 0", range_of_entropy),
      computed("001-P4b", Verdict::holds_if, "Very large initial scores give one-hot weights that learn nothing",
               "it is the spread of the scores that does it: equal scores of any size give H = log n", saturated_start),
      computed("001-P5", Verdict::holds, "Cosine scores at temperature 1 leave H between log n - 0.4745 and log n",
               "the gap is D - 1 - log D with D = 2 e^2 / (e^2 - 1), for every n; whole numbers of keys come a little "
               "less far",
               floor_of_cosines),
      computed("001-P5b", Verdict::holds_if, "A smaller temperature brings the least entropy of cosines to about 0",
               "where log n is well below 2 / tau", smaller_temperature),
  };
}

}  // namespace isentropic::ledger::attention_entropy
