// Quoted exponents of n in the median change of flat attention.
#pragma once

#include <string>
#include <vector>

#include "experiments/noise/deviation.hpp"
#include "ledger/check.hpp"

namespace isentropic::ledger::robustness {

struct QuotedPower {
  NoiseLaw law;
  std::string parameter;
  double power = 0;
};

// Both the quoted exponents and the measured ones come from 600 draws at n = 1024, 4096, 16384 and 65536.
inline void check_quoted_powers(Check& check, const std::vector<QuotedPower>& all) {
  for (const QuotedPower& quoted : all) {
    const Estimate power = experiments::noise::decay({1024, 4096, 16384, 65536}, quoted.law, 600, check.random()).power;
    check.near("power up to n = 65536, quoted, " + quoted.parameter, power, quoted.power, 2.5 * power.error);
  }
}

}  // namespace isentropic::ledger::robustness
