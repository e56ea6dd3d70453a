// The curves for people (tables, a picture, a page) and for programs (JSON).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/sparsity/experiment.hpp"

namespace isentropic::experiments::sparsity {

// S by the formula and as measured, a table for each kind of curve.
std::string tables(const Results& results);

// Everything that was measured; nothing in it depends on the machine's clock.
nlohmann::ordered_json json(const Results& results);

// The diagrams, two in a row, as SVG.
std::string picture(const Results& results);

// The same as a page.
std::string page(const Results& results);

}  // namespace isentropic::experiments::sparsity
