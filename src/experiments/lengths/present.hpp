// Presents the results of the experiment to people (tables, a picture) and to programs (JSON).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/lengths/experiment.hpp"

namespace isentropic::experiments::lengths {

// Entropies, needle probabilities, slopes: three plain-text tables.
std::string tables(const Results& results);

// All measurements, with the parameters needed to reproduce them; nothing in it depends on the machine's clock.
nlohmann::ordered_json json(const Results& results);

// Entropy and needle probability against length, as SVG.
std::string picture(const Results& results);

// The same curves and the underlying numbers, as a single HTML file.
std::string page(const Results& results);

}  // namespace isentropic::experiments::lengths
