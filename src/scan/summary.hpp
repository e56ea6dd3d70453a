// A scan in a few lines, for the top of a page and for terminals: facts about model and text, and sentences about what
// the heads do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scan/result.hpp"

namespace isentropic::scan {

struct Fact {
  std::string label, text;  // "parameters", "13.1 million"
};
// The unit of the model's positions: "tokens", or "patches" of an image.
const char* read_unit(const Result& result);
// Only those that are known.
std::vector<Fact> facts(const Result& result);

// Mean over all heads, or those of a layer; NaN if not measured.
double mean_entropy(const Result& result, std::optional<std::size_t> layer = {});
// Mean over the heads at one of the lengths; its growth over the lengths (slope.hpp).
double mean_entropy_at(const Result& result, std::size_t length);
double mean_entropy_slope(const Result& result);

// "goes from 4.01 to 4.04", or "stays at 4.01" if the change does not show at this many decimals.
std::string goes_from_to(double first, double second, int digits);

// Three sentences: the labels, what the layers see, and how entropy and loss change with the length; without lengths,
// the number of keys heads look at.
std::vector<std::string> sentences(const Result& result);

}  // namespace isentropic::scan
