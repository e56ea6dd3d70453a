// The results of the experiment for people (tables, a picture) and for programs (JSON).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/lengths/experiment.hpp"

namespace isentropic::experiments::lengths {

// Entropies, needle probabilities, slopes: three tables of plain text.
std::string tables(const Results& results);

// Everything that was measured. The parameters suffice to repeat it; nothing in it depends on the machine's clock.
nlohmann::ordered_json json(const Results& results);

// Entropy and needle probability against length, as SVG.
std::string picture(const Results& results);

// The same curves with the numbers behind them, as one HTML file.
std::string page(const Results& results);

}  // namespace isentropic::experiments::lengths
