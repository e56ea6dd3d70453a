// Runs the parts of the study one after the other.
#include "lab/contrast/study.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "isentropic/error.hpp"
#include "lab/contrast/learner.hpp"
#include "lab/contrast/push_pull.hpp"
#include "lab/study_options.hpp"
#include "model/names.hpp"

namespace isentropic::lab::contrast {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Options, critics, batches, information, dimension, steps, temperatures, view_steps,
                                   seed, device)

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kSaveEvery = 500;

std::string describe(const Json& line) {
  if (line["part"] == "views")
    return fmt::format("views at temperature {:g}, loss {:.3f}", line["temperature"].get<double>(),
                       line["loss"].get<double>());
  return fmt::format("{} critic, batch {}, I = {:g}, bound {:.2f} nats", line["critic"].get<std::string>(),
                     line["batch"].get<std::int64_t>(), line["information"].get<double>(), line["bound"].get<double>());
}

// Trains the parts and counts their steps together.
class Progress {
 public:
  Progress(StudyFolder& folder, const StudyCallbacks& callbacks, const std::vector<Part>& parts)
      : folder_(folder), callbacks_(callbacks), step_(folder.steps()) {
    for (const Part& part : parts) all_ += part.steps;
  }

  // Trains a part that begins after `first` steps; false if stopped.
  bool take(const Options& options, const Part& part, std::int64_t first) {
    if (step_ >= first + part.steps) return true;
    Learner learner(options, part);
    if (step_ > first) folder_.restore(learner.state()), learner.set_steps(step_ - first);
    while (learner.steps_done() < part.steps) {
      const Learner::Step found = learner.step();
      ++step_;
      if (found.ends_block) log(found.line);
      callbacks_.progress(static_cast<double>(step_) / static_cast<double>(all_), describe(found.line));
      const bool stops = callbacks_.stops();
      if (stops || step_ % kSaveEvery == 0 || learner.steps_done() == part.steps) folder_.save(learner.state(), step_);
      if (stops && step_ < all_) return false;
    }
    return true;
  }

 private:
  void log(const Json& found) {
    Json line = {{"step", step_}};
    line.update(found);
    folder_.log(line);
  }

  StudyFolder& folder_;
  const StudyCallbacks& callbacks_;
  std::int64_t step_, all_ = 0;
};

}  // namespace

void check(const Options& options) {
  for (const std::string& critic : options.critics) critic_named(critic);
  if (options.steps < static_cast<std::int64_t>(2 * options.information.size()))
    throw Error("steps", std::to_string(options.steps),
                fmt::format("at least 2 for each of {} stairs", options.information.size()));
  model::device_named("device", options.device);
}

Json json(const Options& options) { return options_to_json(options); }

Options options_from(const Json& json) { return options_from_json<Options>(json); }

std::optional<Results> run(StudyFolder& folder, const StudyCallbacks& callbacks) {
  const Options options = options_from(folder.options());
  check(options);
  const std::vector<Part> parts = parts_of(options);
  Progress progress(folder, callbacks, parts);
  std::int64_t first = 0;
  for (const Part& part : parts) {
    if (!progress.take(options, part, first)) return std::nullopt;
    first += part.steps;
  }
  const Results results = results_from(options, folder.lines());
  folder.write_results(json(options, results));
  folder.write("page.html", page(options, results));
  folder.write("contrast.svg", picture(options, results));
  folder.write("push_pull.svg",
               push_pull_picture(push_and_pull(options.seed, temperatures_to_draw(options.temperatures))));
  return results;
}

}  // namespace isentropic::lab::contrast
