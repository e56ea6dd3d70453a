// The heads of a scan as tables for other tools.
#pragma once

#include <string>

#include "scan/result.hpp"

namespace isentropic::scan {

// One line per head: layer, head, module, kind, window, labels (comma-separated) and the mean of every statistic.
// Tab-separated, names in the first line; empty if not measured.
std::string tsv(const Result& result);

// {"3-1": [0.42], ...}: the retrieval score of every layer-head, in the format that tools for retrieval heads load.
std::string retrieval_scores(const Result& result);

}  // namespace isentropic::scan
