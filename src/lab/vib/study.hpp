// The study of the variational bottleneck: what a price on I(Z;X) does to a network's errors and to I(Z;Y).
//
//   Options options{.data = "mnist", .betas = {0, 1e-3, 1e-2}};
//   Problem problem = problem_of(options);
//   StudyFolder folder = StudyFolder::begin(path, kName, to_json(options, problem), ExistingFolder::refuse);
//   std::optional<Results> results = run(folder, options, problem, callbacks);       // none: stopped, to be resumed
//
// The log has a line for every member and epoch; results.json and page.html hold the last of them. All randomness is a
// function of seed and step, so that a study that was stopped ends, on the CPU, with the bits of one that was not.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/study_folder.hpp"
#include "lab/vib/results.hpp"
#include "lab/vib/sweep.hpp"

namespace isentropic::lab::vib {

inline constexpr std::int64_t kMostSeeds = 1000, kMostEpochs = 1'000'000;

struct Options {
  std::string data;  // a folder of IDX files; empty: Gaussians
  std::vector<double> betas;
  std::int64_t seeds = 3, epochs = 200, batch = 100;
  std::uint64_t seed = 1;  // of the first; the others follow it
  std::string device = "cpu";
};

nlohmann::ordered_json to_json(const Options& options, const Problem& problem);
// Throws Error where a field is missing, of another type or out of its range.
Options options_of(const nlohmann::ordered_json& json);

// Throws Error where the data cannot be read, or are fewer than a batch.
Problem problem_of(const Options& options);

// Every beta with every seed, and a deterministic network with every seed.
std::vector<Member> members_of(const Options& options);

// The results of a study of data that has ended, from its log alone: neither the data nor its device is needed.
std::optional<Results> ended(StudyFolder& folder, const Options& options);

// Throws Error unless the problem is the one that the folder's study began with.
std::optional<Results> run(StudyFolder& folder, const Options& options, const Problem& problem,
                           const StudyCallbacks& callbacks);

}  // namespace isentropic::lab::vib
