// Which networks a length study trains next: a function of the study and its results, so that it can be resumed
// anywhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/length/laws.hpp"
#include "lab/length/study.hpp"

namespace isentropic::lab::length {

inline constexpr const char *kScreen = "screen", *kConfirm = "confirm", *kRegularise = "regularise";

// The runs of the current stage that have no result yet, in any order; empty: the study has finished.
std::vector<Run> next_runs(const Study& study, const std::vector<Result>& results);
// The maximum number of runs in total.
std::int64_t most_runs(const Study& study);

// ---- What results show ----

// The mean loss over the lengths above the training length.
double beyond(const Study& study, const Tested& tested);
// A law's result for each seed under its tuned rate and the usual regularisation, in the order of the seeds.
struct Outcome {
  const Result* result;
  const Tested* tested;
};
std::vector<Outcome> outcomes(const Study& study, const std::vector<Result>& results, const std::string& law,
                              const std::string& positions);
// The rate with the lowest loss at the trained length; empty before the law is screened, or if every rate diverged.
std::optional<double> tuned_rate(const Study& study, const std::vector<Result>& results, const std::string& law,
                                 const std::string& positions);
// Laws with at least `seeds` seeds, except the control, by increasing mean loss beyond the trained length over the
// first `seeds` of them.
std::vector<std::string> ranking(const Study& study, const std::vector<Result>& results, const std::string& positions,
                                 std::int64_t seeds);

}  // namespace isentropic::lab::length
