#include "lengths/laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "isentropic/error.hpp"

namespace isentropic::lengths {

const std::vector<Law>& all_laws() {
  using enum Prominence;
  using Length = std::int64_t;
  static const std::vector<Law> laws = {
      {"inverse_sqrt_d", "1/√d", drawn, [](Length, Length) { return Scale::inverse_sqrt_d(); }},
      {"hybrid", "1/√d + 0.1 log n/d", table_only, [](Length, Length) { return Scale::hybrid(1.0, 0.1); }},
      {"llama4", "Llama 4, by position", table_only, [](Length, Length) { return Scale::llama4(); }},
      {"frozen", "log 2¹⁷/d, frozen", table_only, [](Length, Length) { return Scale::frozen(1.0, kFrozenLength); }},
      {"log_n", "log n/d", drawn, [](Length, Length) { return Scale::log_n(); }},
      {"log_512", "log₅₁₂ n/√d", drawn,
       [](Length, Length) { return Scale::log_n_sqrt_d(1 / std::log(static_cast<double>(kTrainedLength))); }},
      {"trained_length", "max(1, log₅₁₂ n)/√d", table_only,
       [](Length, Length) { return Scale::trained_length(kTrainedLength); }},
      {"yarn", "YaRN, factor n/512", drawn,
       [](Length n, Length) {
         return Scale::yarn(std::max(1.0, static_cast<double>(n) / static_cast<double>(kTrainedLength)));
       }},
      {"sqrt_log_n", "√(log n/d)", drawn, [](Length, Length) { return Scale::sqrt_log_n(); }},
      {"ssmax", "SSMax, s = 0.5/√d", drawn,
       [](Length, Length d) { return Scale::ssmax(0.5 / std::sqrt(static_cast<double>(d))); }},
      {"log_n_sqrt_d", "log n/√d", drawn, [](Length, Length) { return Scale::log_n_sqrt_d(); }},
      {"wanted_entropy", fmt::format("solved for H = {:g}", kWantedEntropy), drawn,
       [](Length, Length) { return Scale::wanted_entropy(kWantedEntropy); }},
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
  return {"kappa_log_n", fmt::format("{:.1f} log n/d", kappa), Prominence::drawn,
          [kappa](std::int64_t, std::int64_t) { return Scale::log_n(kappa); }};
}

}  // namespace isentropic::lengths
