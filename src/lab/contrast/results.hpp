// Results of the study of contrastive learning, read from its log.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lab/contrast/geometry.hpp"

namespace isentropic::lab::contrast {

struct Options;

// One critic and batch size on one stair: the mean bound over the second half of its steps, when the critic has
// settled. Every batch is new, so the loss before an update is computed on pairs that the critic has not seen.
struct Stair {
  std::string critic;
  std::int64_t batch = 0;
  double information = 0, bound = 0, error = 0, ceiling = 0;  // nats; error: standard error of the mean
};

struct Arrangement {
  double temperature = 0, loss = 0;
  Geometry geometry = {};
};

struct Results {
  std::vector<Stair> stairs;
  std::vector<Arrangement> arrangements;
};

Results results_from(const Options& options, const std::vector<nlohmann::ordered_json>& log);
nlohmann::ordered_json json(const Options& options, const Results& results);
std::string page(const Options& options, const Results& results);
std::string picture(const Options& options, const Results& results);  // SVG
// Two text tables.
std::string tables(const Options& options, const Results& results);

}  // namespace isentropic::lab::contrast
