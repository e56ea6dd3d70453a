// The numbers of a head by name: its statistics, its similarity to the nearest head, and its slope over lengths.
#pragma once

#include <string>
#include <vector>

#include "scan/result.hpp"
#include "scan/terms.hpp"

namespace isentropic::scan {

// The numbers that any head of these results has, in the order of terms(), then those without an entry there.
std::vector<Term> terms_of(const std::vector<const Result*>& results);

// A statistic, kSimilarity or kSlope; NaN if it was not measured.
Spread value_of(const Result& result, const HeadResult& head, const std::string& name);

}  // namespace isentropic::scan
