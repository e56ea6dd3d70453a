// The results of the experiment for people (tables, a picture, a page) and for programs (JSON).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/noise/experiment.hpp"

namespace isentropic::experiments::noise {

// One table for each kind of noise, then the attacks.
std::string tables(const Results& results);

// Everything that was measured, with the parameters that repeat it; predictions that are infinite are null.
nlohmann::ordered_json json(const Results& results);

// rms change of the output against n, measured and predicted, as SVG.
std::string picture(const Results& results);

// The same as a page, with the attacks.
std::string page(const Results& results);

}  // namespace isentropic::experiments::noise
