// The laws that the experiment compares, with their parameters.
#include "experiments/lengths/laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "isentropic/error.hpp"

namespace isentropic::experiments::lengths {

const std::vector<Law>& all_laws() {
  using enum Prominence;
  using Length = std::int64_t;
  static const std::vector<Law> laws = {
      {"inverse_sqrt_d", "1/√d", "the usual scale of attention: it does not look at n", drawn,
       [](Length, Length) { return Scale::inverse_sqrt_d(); }},
      {"hybrid", "1/√d + 0.1 log n/d", "the usual scale with a small share of log n/d", table_only,
       [](Length, Length) { return Scale::hybrid(1.0, 0.1); }},
      {"llama4", "Llama 4, by position", "the usual scale, raised in steps of 8192 positions", table_only,
       [](Length, Length) { return Scale::llama4(); }},
      {"frozen", "log 2¹⁷/d, frozen", "log n/d stopped at n = 131072: a constant", table_only,
       [](Length, Length) { return Scale::frozen(1.0, kFrozenLength); }},
      {"log_n", "log n/d", "the entropy-invariant scale as it was proposed, kappa = 1", drawn,
       [](Length, Length) { return Scale::log_n(); }},
      {"log_512", "log₅₁₂ n/√d", "grows like log n and equals the usual scale at a trained length of 512", drawn,
       [](Length, Length) { return Scale::log_n_sqrt_d(1 / std::log(static_cast<double>(kTrainedLength))); }},
      {"trained_length", "max(1, log₅₁₂ n)/√d", "as log₅₁₂ n/√d, but never below the usual scale", table_only,
       [](Length, Length) { return Scale::trained_length(kTrainedLength); }},
      {"yarn", "YaRN, factor n/512", "YaRN's temperature for a context stretched from 512 to n", drawn,
       [](Length n, Length) {
         return Scale::yarn(std::max(1.0, static_cast<double>(n) / static_cast<double>(kTrainedLength)));
       }},
      {"sqrt_log_n", "√(log n/d)", "grows as the largest of n Gaussian scores does", drawn,
       [](Length, Length) { return Scale::sqrt_log_n(); }},
      {"ssmax", "SSMax, s = 0.5/√d", "scalable softmax, s log n; every head learns its s, here it is 0.5/sqrt d", drawn,
       [](Length, Length d) { return Scale::ssmax(0.5 / std::sqrt(static_cast<double>(d))); }},
      {"log_n_sqrt_d", "log n/√d", "log n times the usual scale", drawn,
       [](Length, Length) { return Scale::log_n_sqrt_d(); }},
      {"target_entropy", fmt::format("solved for H = {:g}", kTargetEntropy),
       "no law: lambda is solved for each row, so that its entropy is the one wanted", drawn,
       [](Length, Length) { return Scale::target_entropy(kTargetEntropy); }},
  };
  return laws;
}

std::vector<Law> laws_named(const std::vector<std::string>& names) {
  if (names.empty()) return all_laws();
  std::string known;
  for (const Law& law : all_laws()) known += (known.empty() ? "" : ", ") + law.name;
  for (const std::string& name : names)
    if (std::ranges::none_of(all_laws(), [&](const Law& law) { return law.name == name; }))
      throw Error("laws", name, "some of " + known);
  std::vector<Law> out;
  for (const Law& law : all_laws())
    if (std::ranges::find(names, law.name) != names.end()) out.push_back(law);
  return out;
}

Law log_n_law(double kappa) {
  return {"kappa_log_n", fmt::format("{:.1f} log n/d", kappa),
          "log n/d with the kappa that holds H constant on these keys", Prominence::drawn,
          [kappa](std::int64_t, std::int64_t) { return Scale::log_n(kappa); }};
}

}  // namespace isentropic::experiments::lengths
