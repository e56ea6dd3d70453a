// Presents the results of the experiment to people (tables, a picture, a page) and to programs (JSON).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/noise/experiment.hpp"

namespace isentropic::experiments::noise {

// One table per kind of noise, then the attacks.
std::string tables(const Results& results);

// All measurements, with the parameters that reproduce them; infinite predictions are null.
nlohmann::ordered_json json(const Results& results);

// rms change of the output against n, measured and predicted, as SVG.
std::string picture(const Results& results);

// The same as an HTML page, with the attacks.
std::string page(const Results& results);

}  // namespace isentropic::experiments::noise
