// A training run as one HTML file: what a monitor saw of every head, step by step, and its alarms.
//
//   {"name": "run 7",
//    "history": {"120": {"layers.3.attention": {"entropy": [1.5, null]}}},        step, layer, statistic; by head
//    "alarms": [{"kind": "collapse", "layer": "layers.3.attention", "head": 1, "value": 0.03, "step": 120,
//                "statistic": "normalised_entropy"}]}
//
// null is what was not measured; name and alarms may be missing. The page has the curves of every head, and a map of
// layers x heads at the step that its slider chooses. It holds kMostNumbers numbers, about 3 MB: of longer runs evenly
// spaced steps, the first and the last among them.
#pragma once

#include <string>

namespace isentropic::scan {

inline constexpr std::size_t kMostNumbers = 400'000;

// Throws Error, which says where, for anything else than such JSON.
std::string training_page(const std::string& json);

}  // namespace isentropic::scan
