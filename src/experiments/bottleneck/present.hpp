// The bottleneck of a joint distribution for people (table, picture) and for programs (JSON).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "isentropic/information/bottleneck.hpp"
#include "isentropic/information/critical_beta.hpp"

namespace isentropic::experiments::bottleneck {

struct Results {
  std::string source;  // where the joint came from
  std::size_t rows = 0, columns = 0;
  information::BottleneckOptions options;
  information::CriticalBeta critical;
  information::BottleneckCurve curve;
};

// From 1% of the critical beta to 2% above it; of 1 for independent variables, whose critical beta is 0.
std::vector<double> usual_betas(double critical);

// What the curve of so many betas takes at most, in bytes.
std::size_t memory_needed(std::size_t rows, std::size_t columns, std::size_t betas);

// What the objective charges: "I(Z;X)", or "H(Z)" of deterministic codes.
const char* price_name(const Results& results);

std::string table(const Results& results);
nlohmann::ordered_json json(const Results& results);
// The curve in the plane of I(Z;X) and I(Z;Y), with the bounds it lies under, as SVG.
std::string picture(const Results& results);
// The same curve, with codes and numbers, as one HTML file.
std::string page(const Results& results);

}  // namespace isentropic::experiments::bottleneck
