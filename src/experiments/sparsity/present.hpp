// Presents the curves to people (tables, a picture, a page) and to programs (JSON).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/sparsity/experiment.hpp"

namespace isentropic::experiments::sparsity {

// S by the formula and as measured, one table per kind of curve.
std::string tables(const Results& results);

// All measurements; nothing in it depends on the machine's clock.
nlohmann::ordered_json json(const Results& results);

// The diagrams, two per row, as SVG.
std::string picture(const Results& results);

// The same as an HTML page.
std::string page(const Results& results);

}  // namespace isentropic::experiments::sparsity
