// Section 11: the entropy while a row learns.
#include <cmath>

#include "experiments/tools/estimate.hpp"
#include "ledger/attention_entropy/descent.hpp"
#include "ledger/attention_entropy/quoted_draws.hpp"
#include "ledger/attention_entropy/subjects.hpp"

namespace isentropic::ledger::attention_entropy {
namespace {

void entropy_while_learning(Check& check) {
  const std::size_t n = 32;
  const FetchTask task{kFetchedValues, 3};
  const std::vector<double> spread = check.random().normals(n);
  const int steps = 3000;
  const Learning learning = learn_to_fetch(task, check.choose(std::vector<double>(n, 0.0), spread), steps);
  check.near("H before the first step", learning.entropy.front(), std::log(32.0), 0.01);
  const Learning flat = learn_to_fetch(task, std::vector<double>(n, 0.0), steps);
  check.near("H of equal scores, quoted", flat.entropy.front(), 3.466, 5e-4);
  check.near("H after 100 steps from there, quoted", flat.entropy[100], 1.031, 5e-4);
  check.near("H after 3000 steps from there, quoted", flat.entropy.back(), 0.163, 5e-4);
  check.at_most("H after 100 steps", learning.entropy[100], learning.entropy.front() - 1);
  check.at_most("H at the end", learning.entropy.back(), learning.entropy[100]);
  check.at_least("H at the end is not 0", learning.entropy.back(), 1e-6);

  // With 32 keys log n - V / 2 is a little too low: by 0.005 at V = 1/4, by 0.05 at V = 1.
  for (const auto& [variance, low] : {std::pair{0.25, 0.01}, std::pair{1.0, 0.06}})
    check.near(
        "mean H of 32 scores against log n - V / 2, V = " + short_text(variance),
        mean_of(check.effort(3000, 20'000), [&] { return entropy_of(check.random().normals(n, std::sqrt(variance))); }),
        std::log(32.0) - variance / 2, low);

  report::PlotCurve curve{
      .label = "from " + std::string(check.choose("equal", "N(0, 1)")) + " scores", .x = {}, .y = {}};
  for (std::size_t t = 1; t <= learning.entropy.size(); t = t * 5 / 4 + 1) {
    curve.x.push_back(static_cast<double>(t));
    curve.y.push_back(learning.entropy[t - 1]);
  }
  check.plot({.title = "Entropy of a row that learns to fetch one of 32 values",
              .x_label = "step",
              .y_label = "H (nats)",
              .x_scale = report::PlotScale::log,
              .curves = {curve}});
}

}  // namespace

std::vector<Claim> training_claims() {
  return {computed("001-51, s11", Verdict::holds_if,
                   "Training takes H from log n over moderate values to a low, non-zero end",
                   "where the initial scores hardly vary: with variance V it starts near log n - V / 2. Shown for a "
                   "single row; no trained network is judged here",
                   entropy_while_learning)};
}

}  // namespace isentropic::ledger::attention_entropy
