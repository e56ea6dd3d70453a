// The curves for people (a table, a picture, a page) and for programs (JSON).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/sparsity/experiment.hpp"

namespace isentropic::experiments::sparsity {

// S by the formula and as measured, a row for each curve.
std::string tables(const Results& results);

// Everything that was measured; nothing in it depends on the machine's clock.
nlohmann::ordered_json json(const Results& results);

// Curves of one beta have one colour, 0 ... 7, whichever map they belong to.
int colour_of(const Results& results, double beta);

// Two panels, relu² and identity, with exp in both, as SVG.
std::string picture(const Results& results);

// The same as a page.
std::string page(const Results& results);

}  // namespace isentropic::experiments::sparsity
