// What if: runs a model over the windows of a scan with its attention changed, and says how it does.
#pragma once

#include "lab/attention_change.hpp"
#include "lab/scan_windows.hpp"
#include "scan/result.hpp"

namespace isentropic::lab {

// Throws Error for a change that the model cannot run with. A few tokens tell.
void check_change(const model::Transformer& model, const AttentionChange& change);

// Adds an alternative for each change to `result`, whose heads and lengths are known. The options are the scan's.
void add_alternatives(const model::Transformer& model, const std::vector<ScanText>& texts, const ScanOptions& options,
                      const std::vector<AttentionChange>& changes, scan::Result* result);

}  // namespace isentropic::lab
