// Trains the networks of a length study, in one process or several that share its folder.
#include "lab/length/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "lab/claimed_run.hpp"
#include "lab/length/documents.hpp"
#include "lab/length/findings.hpp"
#include "lab/length/network.hpp"
#include "lab/length/plan.hpp"

namespace isentropic::lab::length {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kSaveAfter(20);        // the most that a killed process loses
constexpr std::chrono::milliseconds kPollEvery(200);  // while other processes finish

std::vector<Result> results_in(StudyFolder& folder) {
  std::vector<Result> out;
  for (const Json& line : folder.lines())
    if (line.contains("tests")) out.push_back(result_of(line));
  return out;
}

// The run's file name.
std::string name_of(const Run& run) {
  return fmt::format("{}-{}-{}-{:g}-{}-{:g}-{:g}", run.stage, run.law, run.positions, run.learning_rate, run.seed,
                     run.attention_dropout, run.weight_decay);
}

// The work of this process on a study that others may share.
class Worker {
 public:
  Worker(StudyFolder& folder, const Study& study, const Documents& documents, const Corpus& corpus,
         const StudyCallbacks& callbacks, std::size_t finished)
      : folder_(folder),
        study_(study),
        documents_(documents),
        corpus_(corpus),
        callbacks_(callbacks),
        finished_before_(static_cast<std::int64_t>(finished)) {}

  // Trains the first run that no other process has, until it is finished or the study is to stop; false if none.
  bool train_one_of(const std::vector<Run>& runs, std::size_t finished) {
    for (const Run& run : runs) {
      const auto claimed = ClaimedRun::claim(folder_.path(), name_of(run));
      if (!claimed) continue;
      const auto results = results_in(folder_);
      if (std::ranges::find(results, run, &Result::run) == results.end()) {
        const auto result = train(run, *claimed, finished);
        if (!result) return true;
        folder_.log(json_of(*result));
        callbacks_.tell(forecast(*result));
      }
      claimed->finish();
      return true;
    }
    return false;
  }

  void wait_for_others(std::size_t runs, std::size_t finished) {
    callbacks_.progress(share_of(finished, 0), fmt::format("other processes train the last {} of a stage", runs));
    std::this_thread::sleep_for(kPollEvery);
  }

 private:
  // Empty if it was stopped; its state is then saved.
  std::optional<Result> train(const Run& run, const ClaimedRun& claimed, std::size_t finished) {
    Network network(study_, run, documents_, corpus_);
    if (const std::int64_t steps = claimed.restore(network.state()); steps > 0) network.go_on_from(steps);
    Clock::time_point saved = Clock::now();
    while (network.steps_done() < study_.steps) {
      try {
        network.step();
      } catch (const Diverged& error) {
        callbacks_.tell(error.what());
        return network.diverged();
      }
      const std::int64_t step = network.steps_done();
      callbacks_.progress(share_of(finished, step), run.stage + " " + run.law + ", positions " + run.positions);
      const bool stops = callbacks_.stops() && step < study_.steps;
      if (stops || Clock::now() - saved > kSaveAfter) claimed.save(network.state(), step), saved = Clock::now();
      if (stops) return {};
    }
    return finite_part(network.finish());
  }

  double share_of(std::size_t finished, std::int64_t steps) const {
    const double networks =
        static_cast<double>(finished) + static_cast<double>(steps) / static_cast<double>(study_.steps);
    return std::min(1.0, networks / static_cast<double>(most_runs(study_)));  // a log may hold more, from other options
  }

  // Extrapolates the rate of all processes together since this one began.
  std::string forecast(const Result& last) {
    const auto results = static_cast<std::int64_t>(results_in(folder_).size());
    const auto since = static_cast<double>(results - finished_before_);
    const std::int64_t left = most_runs(study_) - results;
    const std::chrono::duration<double, std::ratio<60>> minutes = Clock::now() - start_;
    return fmt::format(
        "{} {}, positions {}, learning rate {}: {} in {:.0f} s; at most {} networks and {:.0f} minutes left",
        last.run.stage, last.run.law, last.run.positions, last.run.learning_rate,
        last.diverged ? "diverged" : fmt::format("loss {:.4f}", last.validation), last.seconds, left,
        static_cast<double>(left) * minutes.count() / since);
  }

  StudyFolder& folder_;
  const Study& study_;
  const Documents& documents_;
  const Corpus& corpus_;
  const StudyCallbacks& callbacks_;
  const Clock::time_point start_ = Clock::now();
  const std::int64_t finished_before_;
};

// For a study resumed on another device, or without an option that it was first given.
void warn_of_other_precision(const Study& study, const std::vector<Result>& results, const StudyCallbacks& callbacks) {
  const std::string here = precision_of(unmeasured(study, {}));
  const auto other =
      std::ranges::find_if(results, [&](const Result& x) { return !x.device.empty() && precision_of(x) != here; });
  if (other != results.end())
    callbacks.tell("networks before were trained on " + precision_of(*other) + ", from now on " + here +
                   ": their losses do not compare");
}

// False if it was stopped.
bool train_all(StudyFolder& folder, const Study& study, const StudyCallbacks& callbacks) {
  const Documents documents = stored_documents(folder.path(), study);
  const Corpus corpus = corpus_of(documents);
  const auto before = results_in(folder);
  warn_of_other_precision(study, before, callbacks);
  Worker worker(folder, study, documents, corpus, callbacks, before.size());
  for (;;) {
    const auto results = results_in(folder);
    const std::vector<Run> runs = next_runs(study, results);
    if (runs.empty()) return true;
    if (callbacks.stops()) return false;
    if (!worker.train_one_of(runs, results.size())) worker.wait_for_others(runs.size(), results.size());
  }
}

}  // namespace

std::optional<std::vector<Result>> run_study(StudyFolder& folder, const Study& study, const StudyCallbacks& callbacks) {
  check_study(study);
  if (!next_runs(study, results_in(folder)).empty() && !train_all(folder, study, callbacks)) return {};
  ClaimedRun::remove_all(folder.path());  // left by processes killed after they logged their network
  return results_in(folder);
}

}  // namespace isentropic::lab::length
