// Scans a model of src/model: runs it over windows of texts and reports to scan/ what its attention does.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/scan_windows.hpp"
#include "model/transformer.hpp"
#include "scan/result.hpp"

namespace isentropic::lab {

// Memory that a window of this length takes besides the model's weights, in bytes.
std::int64_t scan_memory(const model::Description& model, std::int64_t length);

// `about` describes the model and the text.
scan::Result scan_model(const model::Transformer& model, scan::Result about, const std::vector<ScanText>& texts,
                        const ScanOptions& options);

}  // namespace isentropic::lab
