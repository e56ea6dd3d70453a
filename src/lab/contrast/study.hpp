// The study of contrastive learning: how much information InfoNCE detects, and how the temperature arranges embeddings.
//
// Critics learn to match pairs of correlated Gaussians, I(X;Y) = -d/2 log(1 - rho^2), while the true information climbs
// a staircase. The bound log N - loss cannot exceed log N: with 64 pairs it stays below 4.16 nats. Then noisy views of
// a few points are matched at several temperatures, and the embeddings measured (geometry.hpp). Every random number is
// a function of the seed and the step.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/contrast/results.hpp"
#include "lab/study_folder.hpp"

namespace isentropic::lab::contrast {

struct Options {
  std::vector<std::string> critics = {"shared", "two-tower", "cosine"};
  std::vector<std::int64_t> batches = {64, 512};
  std::vector<double> information = {2, 4, 6, 8, 10};  // nats, one per stair
  std::int64_t dimension = 20;                         // of X and of Y
  std::int64_t steps = 4000;                           // per staircase, all stairs together
  std::vector<double> temperatures = {0.05, 0.1, 0.2, 0.5, 1};
  std::int64_t view_steps = 4000;  // per temperature
  std::uint64_t seed = 1;
  std::string device = "cpu";
};

// Throws Error if the options are invalid.
void check(const Options& options);
nlohmann::ordered_json json(const Options& options);
Options options_from(const nlohmann::ordered_json& json);

// Runs or resumes the study with the options in the folder; writes results.json, page.html and figures at the end.
// Empty if it was stopped.
std::optional<Results> run(StudyFolder& folder, const StudyCallbacks& callbacks);

}  // namespace isentropic::lab::contrast
