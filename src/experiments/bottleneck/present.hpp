// Presents the bottleneck of a joint distribution to people (table, picture) and to programs (JSON).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "isentropic/information/bottleneck.hpp"
#include "isentropic/information/critical_beta.hpp"

namespace isentropic::experiments::bottleneck {

struct Results {
  std::string source;  // where the joint distribution came from
  std::size_t rows = 0, columns = 0;
  information::BottleneckOptions options;
  information::CriticalBeta critical;
  information::BottleneckCurve curve;
};

// From 1% of the critical beta to 2% above it. Independent variables have a critical beta of 0, replaced by 1.
std::vector<double> usual_betas(double critical);

// Upper bound in bytes for a curve of this many betas.
std::size_t memory_needed(std::size_t rows, std::size_t columns, std::size_t betas);

// The objective's cost term: "I(Z;X)", or "H(Z)" for deterministic codes.
const char* price_name(const Results& results);

std::string table(const Results& results);
nlohmann::ordered_json json(const Results& results);
// The curve in the plane of I(Z;X) and I(Z;Y), with its upper bounds, as SVG.
std::string picture(const Results& results);
// The same curve, with codes and numbers, as a single HTML file.
std::string page(const Results& results);

}  // namespace isentropic::experiments::bottleneck
