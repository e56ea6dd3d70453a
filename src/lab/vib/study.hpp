// The study of the variational bottleneck: how a penalty on I(Z;X) affects a network's errors and I(Z;Y).
//
//   Options options{.data = "mnist", .betas = {0, 1e-3, 1e-2}};
//   Problem problem = problem_of(options);
//   StudyFolder folder = StudyFolder::begin(path, kName, to_json(options, problem), ExistingFolder::refuse);
//   std::optional<Results> results = run(folder, options, problem, callbacks);       // empty: stopped, can be resumed
//
// The log has one line per member and epoch; results.json and page.html hold those of the last epoch. All randomness is
// a function of seed and step, so that on the CPU a resumed study is bit-identical to an uninterrupted one.
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
  std::uint64_t seed = 1;  // the first; the others follow
  std::string device = "cpu";
};

nlohmann::ordered_json to_json(const Options& options, const Problem& problem);
// Throws Error if a field is missing, has another type or is out of range.
Options options_of(const nlohmann::ordered_json& json);

// Throws Error if the data cannot be read, or are fewer than a batch.
Problem problem_of(const Options& options);

// Every beta with every seed, and a deterministic network with every seed.
std::vector<Member> members_of(const Options& options);

// The results of a finished study, from its log alone: neither data nor device is needed. Empty if it has not finished.
std::optional<Results> ended(StudyFolder& folder, const Options& options);

// Throws Error unless the problem is the one that the folder's study began with. Empty if it was stopped.
std::optional<Results> run(StudyFolder& folder, const Options& options, const Problem& problem,
                           const StudyCallbacks& callbacks);

}  // namespace isentropic::lab::vib
