// Section 23: what a heat map of the weights shows.
#include <algorithm>
#include <cmath>

#include "experiments/tools/kernels.hpp"
#include "ledger/attention_entropy/subjects.hpp"

namespace isentropic::ledger::attention_entropy {
namespace {

void colours_and_entropy(Check& check) {
  // Nearly equal weights, drawn on the fixed scale [0, 1] or stretched from their minimum to their maximum.
  const std::vector<double> a = weights_of(check.random().normals(64, 0.01));
  const auto [least, most] = std::minmax_element(a.begin(), a.end());
  const double low = check.choose(0.0, *least), high = check.choose(1.0, *most);
  const auto colour = [&](double weight) { return (weight - low) / (high - low); };
  check.at_most("contrast of nearly equal weights", colour(*most) - colour(*least), 0.05);

  // Equal scores under a causal mask: every row is spread as widely as possible.
  const std::size_t n = 256;
  const Table zero(n, 1, 0.0);
  AttentionProblem options;
  options.mask = Mask::causal();
  const AttentionResult result = attend(zero, zero, zero, options);
  const double h = result.statistics.entropy.at({0, 0, 7}),
               normalised = result.statistics.normalised_entropy.at({0, 0, 7});
  check.near("share of the possible entropy in row 8 of 256, causal, equal scores",
             check.choose(normalised, h / std::log(static_cast<double>(n))), 1, 1e-12);
  check.near("brightest cell of a row led by 20, scale [0, 1]", peak(record_of(std::vector<double>{20, 0, 0, 0})), 1,
             1e-6);
}

}  // namespace

std::vector<Claim> heat_map_claims() {
  return {computed("001-s23", Verdict::holds_if, "Even heat maps mean high entropy, bright spots low entropy",
                   "on a colour scale fixed to [0, 1] and with H divided by the log of the keys a row sees; what it "
                   "says about training remains a rule of thumb",
                   colours_and_entropy)};
}

}  // namespace isentropic::ledger::attention_entropy
