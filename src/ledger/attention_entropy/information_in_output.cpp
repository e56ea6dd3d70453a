// Section 15: the bottleneck, and how much of its values a spread row keeps.
#include <cmath>
#include <numbers>

#include "experiments/tools/kernels.hpp"
#include "isentropic/information/entropy.hpp"
#include "isentropic/theory/attention_channel.hpp"
#include "ledger/attention_entropy/subjects.hpp"

namespace isentropic::ledger::attention_entropy {
namespace {

constexpr std::size_t kKeys = 16;

// Equal weights on the first k of 16 keys, negligible weights on the others.
std::vector<double> scores_on(std::size_t k) {
  std::vector<double> scores(kKeys, -100.0);
  std::fill_n(scores.begin(), k, 0.0);
  return scores;
}

// H of the output over all 2^16 patterns of 0 and 1, each pattern being one column of the values.
double coin_information(std::size_t k) {
  const std::size_t patterns = 1 << kKeys;
  Table values(kKeys, patterns);
  for (std::size_t j = 0; j < kKeys; ++j)
    for (std::size_t x = 0; x < patterns; ++x) values(j, x) = static_cast<double>((x >> j) & 1);
  std::vector<double> outputs = output_of(scores_on(k), values);
  for (double& o : outputs) o = std::round(o * 1e6);
  return entropy_from_symbols(Table(patterns, 1, std::move(outputs)), EntropyEstimator::plug_in);
}

// h(o + noise) - h(noise), from draws of the values, again one column each.
double gaussian_information(std::size_t k, double noise, std::size_t draws, Random* random) {
  std::vector<double> outputs = output_of(scores_on(k), Table(kKeys, draws, random->normals(kKeys * draws)));
  for (double& o : outputs) o += std::sqrt(noise) * random->normal();
  const double noise_entropy = std::log(2 * std::numbers::pi * std::numbers::e * noise) / 2;
  return gaussian_entropy_from_samples(Table(draws, 1, std::move(outputs))) - noise_entropy;
}

void spread_and_information(Check& check) {
  const double noise = 0.1;
  const auto draws = static_cast<std::size_t>(check.effort(100000, 400000));
  report::PlotCurve coins{.label = "coins without noise", .x = {}, .y = {}},
      gaussian{.label = "Gaussian values with noise", .x = {}, .y = {}};
  for (const std::size_t k : {1u, 2u, 4u, 16u}) {
    const std::string where = ", H = log " + std::to_string(k);
    const double coin = coin_information(k), normal = gaussian_information(k, noise, draws, &check.random());
    std::vector<double> a(kKeys, 0.0);
    std::fill_n(a.begin(), k, 1 / static_cast<double>(k));
    check.near("coins without noise" + where, coin, coin_output_information(static_cast<std::int64_t>(k)), 1e-10);
    // The error of log Var / 2 is sqrt(1 / (2 draws)).
    check.near("Gaussian values with noise" + where, normal, gaussian_output_information(a, 1, noise),
               5 * std::sqrt(0.5 / static_cast<double>(draws)));
    if (k == 1 || k == 16) check.near("coins, quoted" + where, coin, k == 1 ? 0.693 : 2.112, 5e-4);
    if (k != 4)
      check.near("Gaussian values, quoted" + where, normal,
                 k == 1   ? 1.199
                 : k == 2 ? 0.896
                          : 0.243,
                 5e-4 + 5 * std::sqrt(0.5 / static_cast<double>(draws)));
    for (auto& [curve, y] : {std::pair{&coins, coin}, std::pair{&gaussian, normal}})
      curve->x.push_back(std::log(static_cast<double>(k))), curve->y.push_back(y);
  }
  const report::PlotCurve& judged = check.choose(coins, gaussian);
  check.at_least("information at H = log 16 less that at H = 0", judged.y.back() - judged.y.front(), 0);
  check.plot({.title = "What an output says about its 16 values",
              .x_label = "H of the weights (nats)",
              .y_label = "I(output; values) (nats)",
              .curves = {coins, gaussian}});
}

}  // namespace

std::vector<Claim> information_in_output_claims() {
  return {
      definition("001-68", "The bottleneck minimises I(Z;X) - beta I(Z;Y) over codes Z of X",
                 "beta here is 1 / beta of isentropic/information/bottleneck.hpp"),
      computed("001-s15a", Verdict::holds_if, "Attention of high entropy keeps more information about its input",
               "for discrete values without noise; through a noisy channel log(1 + sum a^2 / s) / 2 falls as H rises",
               spread_and_information),
      listed("001-s15b", Verdict::not_checked, "There is an optimal entropy that balances keeping and compressing",
             "a continuous objective has a minimum on the simplex; whether it is unique or carries over is open. "
             "001-s25-Q2 gives it for one task"),
  };
}

}  // namespace isentropic::ledger::attention_entropy
