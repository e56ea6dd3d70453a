// Trains the sweep, epoch by epoch, in its folder.
#include "lab/vib/study.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "isentropic/error.hpp"
#include "model/names.hpp"

namespace isentropic::lab::vib {
namespace {

void require_finite(const std::vector<MemberResult>& results, std::int64_t epoch) {
  for (const MemberResult& result : results)
    for (const Measures& measures : {result.train, result.test})
      if (!std::isfinite(measures.information_y) ||
          (!result.member.deterministic && !std::isfinite(measures.information_x)))
        throw Error(fmt::format("information at beta {}", result.member.beta),
                    fmt::format("not finite in epoch {}", epoch), "a finite number");
}

std::vector<MemberResult> log_epoch(StudyFolder& folder, const Sweep& sweep, const std::vector<Member>& members,
                                    const Problem& problem) {
  const std::int64_t epoch = sweep.step() / sweep.steps_of_epoch();
  const auto train = sweep.measure(problem.train), test = sweep.measure(problem.test);
  std::vector<MemberResult> out;
  for (std::size_t i = 0; i < members.size(); ++i) out.push_back({members[i], train[i], test[i]});
  require_finite(out, epoch);
  for (const MemberResult& result : out) {
    nlohmann::ordered_json line = {{"step", sweep.step()}, {"epoch", epoch}};
    line.update(to_json(result));
    folder.log(line);
  }
  return out;
}

// When to save during training: writing the weights and moments of many networks takes a second.
class SaveClock {
 public:
  bool is_due() {
    const auto now = std::chrono::steady_clock::now();
    if (now - saved_ < std::chrono::minutes(1)) return false;
    saved_ = now;
    return true;
  }

 private:
  std::chrono::steady_clock::time_point saved_ = std::chrono::steady_clock::now();
};

std::string now(std::int64_t epoch, std::int64_t epochs, const std::vector<MemberResult>& last) {
  std::string out = fmt::format("epoch {} of {}", epoch, epochs);
  if (!last.empty()) out += fmt::format(", I(Z;Y) {:.4f} at the first beta", last.front().test.information_y);
  return out;
}

// The last epoch, read from the log: a study that had finished before does not have it in memory.
std::vector<MemberResult> last_of(StudyFolder& folder, std::size_t members) try {
  const auto lines = folder.lines();
  std::vector<MemberResult> out;
  for (std::size_t i = 0; i < members; ++i) out.push_back(member_result_of(lines.at(lines.size() - members + i)));
  return out;
} catch (const std::exception&) {  // a missing or malformed line
  throw Error(folder.path() + "/log.jsonl", "without the last epoch", "the log of this study");
}

Results finish(StudyFolder& folder, const std::vector<double>& correlations, std::size_t members) {
  const Results out{.members = last_of(folder, members), .correlations = correlations};
  folder.write_results(to_json(out));
  folder.write("page.html", page(out));
  folder.write("vib.svg", picture(out));
  return out;
}

}  // namespace

nlohmann::ordered_json to_json(const Options& options, const Problem& problem) {
  return {{"data", options.data},     {"betas", options.betas},      {"seeds", options.seeds},
          {"epochs", options.epochs}, {"batch", options.batch},      {"seed", options.seed},
          {"device", options.device}, {"checksum", problem.checksum}};
}

Options options_of(const nlohmann::ordered_json& json) {
  try {
    const Options out{.data = json.at("data"),
                      .betas = json.at("betas"),
                      .seeds = json.at("seeds"),
                      .epochs = json.at("epochs"),
                      .batch = json.at("batch"),
                      .seed = json.at("seed"),
                      .device = json.at("device")};
    const bool is_possible = out.seeds >= 1 && out.seeds <= kMostSeeds && out.epochs >= 1 &&
                             out.epochs <= kMostEpochs && out.batch >= 1 && !out.betas.empty();
    if (is_possible) return out;
  } catch (const nlohmann::json::exception&) {  // reported below
  }
  throw Error("study.json", "without an option, or with one that cannot be", "what a study of vib wrote");
}

Problem problem_of(const Options& options) {
  const at::Device device = model::device_named("device", options.device);
  Problem out = options.data.empty() ? gaussian_problem(options.seed, device) : image_problem(options.data, device);
  const std::int64_t count = out.train.inputs.size(0);
  if (options.batch > count)
    throw Error("batch", std::to_string(options.batch), fmt::format("at most the {} training examples", count));
  return out;
}

std::vector<Member> members_of(const Options& options) {
  std::vector<Member> out;
  const auto add = [&](double beta, bool deterministic) {
    for (std::int64_t i = 0; i < options.seeds; ++i)
      out.push_back({beta, options.seed + static_cast<std::uint64_t>(i), deterministic});
  };
  for (const double beta : options.betas) add(beta, false);
  add(0, true);
  return out;
}

std::optional<Results> ended(StudyFolder& folder, const Options& options) {
  const auto lines = folder.lines();
  const bool has_ended = !lines.empty() && lines.back().value("epoch", std::int64_t{0}) == options.epochs;
  if (!has_ended) return std::nullopt;
  return finish(folder, options.data.empty() ? correlations() : std::vector<double>{}, members_of(options).size());
}

std::optional<Results> run(StudyFolder& folder, const Options& options, const Problem& problem,
                           const StudyCallbacks& callbacks) {
  const nlohmann::ordered_json checksum = problem.checksum;
  if (folder.options().value("checksum", nlohmann::ordered_json()) != checksum)
    throw Error(options.data, "not what it was when the study began", "the same files");
  const std::vector<Member> members = members_of(options);
  Sweep sweep(problem, members, options.batch);
  sweep.set_step(folder.restore(sweep.state()));
  const std::int64_t steps = options.epochs * sweep.steps_of_epoch();
  callbacks.tell(fmt::format("{} networks, {} examples to train on, {} steps", members.size(),
                             problem.train.inputs.size(0), steps));
  std::vector<MemberResult> last;
  SaveClock clock;
  while (sweep.step() < steps) {
    const std::int64_t epoch = sweep.step() / sweep.steps_of_epoch() + 1;
    sweep.train_step();
    const bool ends_epoch = sweep.step() % sweep.steps_of_epoch() == 0, stops = callbacks.stops();
    if (ends_epoch) last = log_epoch(folder, sweep, members, problem);
    if (stops || sweep.step() == steps || clock.is_due()) folder.save(sweep.state(), sweep.step());
    callbacks.progress(static_cast<double>(sweep.step()) / static_cast<double>(steps),
                       now(epoch, options.epochs, last));
    if (stops && sweep.step() < steps) return std::nullopt;
  }
  return finish(folder, problem.correlations, members.size());
}

}  // namespace isentropic::lab::vib
