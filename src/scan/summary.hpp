// A scan in a few lines, for the head of a page and for terminals: facts about model and text, and sentences on what
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
// What the model's positions are: "tokens", or "patches" of an image.
const char* read_unit(const Result& result);
// Those that are known.
std::vector<Fact> facts(const Result& result);

// Over all heads, or those of a layer; NaN where it was not measured.
double mean_entropy(const Result& result, std::optional<std::size_t> layer = {});
// Over the heads, at one of the lengths; how it grows over them (slope.hpp).
double mean_entropy_at(const Result& result, std::size_t length);
double mean_entropy_slope(const Result& result);

// "goes from 4.01 to 4.04", or "stays at 4.01" where so many digits after the point show no change.
std::string goes_from_to(double first, double second, int digits);

// Three: the labels, what the layers see, and how entropy and loss change with the length; without lengths, how many
// keys heads look at.
std::vector<std::string> sentences(const Result& result);

}  // namespace isentropic::scan
