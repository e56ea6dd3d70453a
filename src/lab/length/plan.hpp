// Which networks a length study trains, given what it has found so far: a function of both, so that a study can go on
// anywhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/length/laws.hpp"
#include "lab/length/study.hpp"

namespace isentropic::lab::length {

inline constexpr const char *kScreen = "screen", *kConfirm = "confirm", *kRegularise = "regularise";

// What the present stage wants beyond the results, in any order; none: the study has ended.
std::vector<Run> next_runs(const Study& study, const std::vector<Result>& results);
// How many there are at most.
std::int64_t most_runs(const Study& study);

// ---- What results say ----

// The mean loss over lengths above that of training.
double beyond(const Study& study, const Tested& tested);
// What a law has at each seed under its tuned rate and the usual regularisation, in the order of the seeds.
struct Outcome {
  const Result* result;
  const Tested* tested;
};
std::vector<Outcome> outcomes(const Study& study, const std::vector<Result>& results, const std::string& law,
                              const std::string& positions);
// The rate with the least loss at the trained length; none before the law was screened, or where it diverged at each.
std::optional<double> tuned_rate(const Study& study, const std::vector<Result>& results, const std::string& law,
                                 const std::string& positions);
// Laws with that many seeds, the one with the least loss beyond the trained length first: the mean over as many.
std::vector<std::string> ranking(const Study& study, const std::vector<Result>& results, const std::string& positions,
                                 std::int64_t seeds);

}  // namespace isentropic::lab::length
