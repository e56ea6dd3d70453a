// Which labels and heads are worth naming first: one order for terminals, sentences and pages.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "scan/result.hpp"

namespace isentropic::scan {

struct LabelCount {
  std::string label;
  std::size_t heads = 0;
};
// The labels that some head has, the commonest first; equally common ones in the order of rules().
std::vector<LabelCount> label_counts(const Result& result);

// Indices of all heads, those that tell most first: those with the rarest labels, among them those that meet their rule
// by the most, then heads without labels.
std::vector<std::size_t> heads_by_interest(const Result& result);

}  // namespace isentropic::scan
