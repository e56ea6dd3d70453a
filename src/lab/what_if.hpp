// What if: runs a model over the windows of a scan with changed attention, and measures the result.
#pragma once

#include "lab/attention_change.hpp"
#include "lab/scan_windows.hpp"
#include "scan/result.hpp"

namespace isentropic::lab {

// Throws Error if the model cannot run with the change, which is tried on a few tokens.
void check_change(const model::Transformer& model, const AttentionChange& change);

// Adds one alternative per change to `result`, whose heads and lengths are known. The options are those of the scan.
void add_alternatives(const model::Transformer& model, const std::vector<ScanText>& texts, const ScanOptions& options,
                      const std::vector<AttentionChange>& changes, scan::Result* result);

}  // namespace isentropic::lab
