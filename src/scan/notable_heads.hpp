// Which labels and heads to name first: one order for terminals, sentences and pages.
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
// The labels that any head has, most frequent first; equally frequent ones in the order of rules().
std::vector<LabelCount> label_counts(const Result& result);

// Indices of all heads, the most interesting first: those with the rarest labels, ordered by how far they exceed their
// rule's threshold, then heads without labels.
std::vector<std::size_t> heads_by_interest(const Result& result);

}  // namespace isentropic::scan
