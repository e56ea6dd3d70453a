// The study of contrastive learning: how much information InfoNCE can see, and how a temperature arranges embeddings.
//
// Pairs of correlated Gaussians, I(X;Y) = -d/2 log(1 - rho^2), are told apart by critics that learn while the true
// information climbs a staircase. The bound log N - loss cannot pass log N: with 64 pairs it stops below 4.16 nats.
// Then noisy views of a few points are told apart at several temperatures, and the embeddings measured (geometry.hpp).
// Every random number is a function of the seed and the step.
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
  std::vector<double> information = {2, 4, 6, 8, 10};  // nats, of each stair
  std::int64_t dimension = 20;                         // of either side of a pair
  std::int64_t steps = 4000;                           // of a staircase, all stairs together
  std::vector<double> temperatures = {0.05, 0.1, 0.2, 0.5, 1};
  std::int64_t view_steps = 4000;  // at each temperature
  std::uint64_t seed = 1;
  std::string device = "cpu";
};

// Throws Error for what cannot be studied.
void check(const Options& options);
nlohmann::ordered_json json(const Options& options);
Options options_from(const nlohmann::ordered_json& json);

// Runs, or goes on, in a folder that holds the options; writes results.json and page.html at the end. Nothing: stopped.
std::optional<Results> run(StudyFolder& folder, const StudyCallbacks& callbacks);

}  // namespace isentropic::lab::contrast
