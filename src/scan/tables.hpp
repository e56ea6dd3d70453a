// The heads of a scan as tables that other tools read.
#pragma once

#include <string>

#include "scan/result.hpp"

namespace isentropic::scan {

// A line for each head: layer, head, module, kind, window, labels (comma-separated) and the mean of every statistic.
// Tabs between columns, names in the first line; what was not measured is empty.
std::string tsv(const Result& result);

// {"3-1": [0.42], ...}: the retrieval score of every head, layer-head, as tools for retrieval heads load it.
std::string retrieval_scores(const Result& result);

}  // namespace isentropic::scan
