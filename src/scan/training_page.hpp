// A training run as one HTML file: the monitor's record of every head, step by step, and its alarms.
//
//   {"name": "run 7",
//    "history": {"120": {"layers.3.attention": {"entropy": [1.5, null]}}},        step, layer, statistic; by head
//    "alarms": [{"kind": "collapse", "layer": "layers.3.attention", "head": 1, "value": 0.03, "step": 120,
//                "statistic": "normalised_entropy"}]}
//
// null means not measured; name and alarms may be missing. The page has the curves of every head, and a map of layers x
// heads at the step chosen by its slider. It contains kMostNumbers numbers, about 3 MB: for longer runs, evenly spaced
// steps including the first and the last.
#pragma once

#include <string>

namespace isentropic::scan {

inline constexpr std::size_t kMostNumbers = 400'000;

// Throws Error, which names the place, for any other JSON.
std::string training_page(const std::string& json);

}  // namespace isentropic::scan
