// Decides what is trained next.
#include "lab/length/plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace isentropic::lab::length {
namespace {

bool is_in(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

Run usual_run(const Study& study, const char* stage, const std::string& law, const std::string& positions, double rate,
              std::uint64_t seed) {
  return {stage, law, positions, rate, seed, study.attention_dropout, study.weight_decay};
}

std::vector<std::string> trained_laws(const Study& study) {
  std::vector<std::string> out;
  for (const Law& law : laws_of(study))
    if (law.networks.empty()) out.push_back(law.name);
  return out;
}

std::vector<Run> screen(const Study& study) {
  std::vector<Run> out;
  for (const std::string& positions : study.positions)
    for (const std::string& law : trained_laws(study))
      for (const double rate : study.learning_rates)
        out.push_back(usual_run(study, kScreen, law, positions, rate, study.seed));
  return out;
}

// 1/sqrt d, log n/d and the best others, each as the law that trains its networks.
std::vector<std::string> confirmed_laws(const Study& study, const std::vector<Result>& results,
                                        const std::string& positions) {
  const std::vector<Law> laws = laws_of(study);
  std::vector<std::string> out;
  const auto add = [&](const std::string& name) {
    const std::string& network = law_named(laws, name).trained_as();
    if (!is_in(out, network)) out.push_back(network);
  };
  std::int64_t best = 0;
  for (const char* always : {"inverse_sqrt_d", "log_n"})
    if (std::ranges::find(laws, always, &Law::name) != laws.end()) add(always);
  for (const std::string& law : ranking(study, results, positions, 1)) {
    if (best == study.best) break;
    if (law == "inverse_sqrt_d" || law == "log_n") continue;
    add(law), ++best;
  }
  return out;
}

std::vector<Run> confirm(const Study& study, const std::vector<Result>& results) {
  std::vector<Run> out;
  for (std::int64_t seed = 1; seed < study.seeds; ++seed)
    for (const std::string& positions : study.positions)
      for (const std::string& law : confirmed_laws(study, results, positions))
        if (const auto rate = tuned_rate(study, results, law, positions))
          out.push_back(
              usual_run(study, kConfirm, law, positions, *rate, study.seed + static_cast<std::uint64_t>(seed)));
  return out;
}

struct Regularisation {
  double dropout, decay;
};

std::vector<Regularisation> other_regularisation(const Study& study) {
  std::vector<Regularisation> out;
  for (const double dropout : study.attention_dropout_sweep)
    for (const double decay : study.weight_decay_sweep)
      if (dropout != study.attention_dropout || decay != study.weight_decay) out.push_back({dropout, decay});
  return out;
}

// The two best laws among those with all seeds.
std::vector<Run> regularise(const Study& study, const std::vector<Result>& results) {
  std::vector<Run> out;
  const std::vector<Law> laws = laws_of(study);
  for (const std::string& positions : study.positions) {
    std::vector<std::string> best;
    for (const std::string& law : ranking(study, results, positions, study.seeds)) {
      const std::string& network = law_named(laws, law).trained_as();
      if (best.size() < 2 && !is_in(best, network)) best.push_back(network);
    }
    for (const std::string& law : best)
      for (const auto& [dropout, decay] : other_regularisation(study)) {
        Run run =
            usual_run(study, kRegularise, law, positions, *tuned_rate(study, results, law, positions), study.seed);
        run.attention_dropout = dropout, run.weight_decay = decay;
        out.push_back(run);
      }
  }
  return out;
}

}  // namespace

std::vector<Run> next_runs(const Study& study, const std::vector<Result>& results) {
  const auto missing = [&](std::vector<Run> runs) {
    std::erase_if(runs, [&](const Run& run) { return std::ranges::find(results, run, &Result::run) != results.end(); });
    return runs;
  };
  if (auto runs = missing(screen(study)); !runs.empty()) return runs;
  if (auto runs = missing(confirm(study, results)); !runs.empty()) return runs;
  return missing(regularise(study, results));
}

std::int64_t most_runs(const Study& study) {
  const auto places = static_cast<std::int64_t>(study.positions.size());
  const auto laws = static_cast<std::int64_t>(trained_laws(study).size());
  const std::int64_t variants = std::ssize(other_regularisation(study));
  return static_cast<std::int64_t>(screen(study).size()) +
         places * ((study.seeds - 1) * std::min(laws, study.best + 2) + std::min<std::int64_t>(laws, 2) * variants);
}

double beyond(const Study& study, const Tested& tested) {
  double sum = 0;
  int count = 0;
  for (const Point& point : tested.points)
    if (point.n > study.length) sum += point.loss, ++count;
  return count > 0 ? sum / count : std::nan("");
}

std::optional<double> tuned_rate(const Study&, const std::vector<Result>& results, const std::string& law,
                                 const std::string& positions) {
  const Result* best = nullptr;
  for (const Result& result : results)
    if (result.run.stage == kScreen && result.run.law == law && result.run.positions == positions && !result.diverged)
      if (!best || result.validation < best->validation) best = &result;
  if (!best) return {};
  return best->run.learning_rate;
}

std::vector<Outcome> outcomes(const Study& study, const std::vector<Result>& results, const std::string& law,
                              const std::string& positions) {
  std::map<std::uint64_t, Outcome> by_seed;
  for (const Result& result : results) {
    const Run& run = result.run;
    if (run.positions != positions || run.stage == kRegularise) continue;
    const auto tested = std::ranges::find(result.tests, law, &Tested::law);
    if (tested != result.tests.end() && tuned_rate(study, results, run.law, positions) == run.learning_rate)
      by_seed[run.seed] = {&result, &*tested};
  }
  std::vector<Outcome> out;
  for (const auto& [seed, outcome] : by_seed) out.push_back(outcome);
  return out;
}

std::vector<std::string> ranking(const Study& study, const std::vector<Result>& results, const std::string& positions,
                                 std::int64_t seeds) {
  std::vector<std::pair<double, std::string>> losses;
  for (const Law& law : laws_of(study)) {
    const auto found = outcomes(study, results, law.name, positions);
    if (law.window || std::ssize(found) < seeds) continue;  // the control is not ranked
    double sum = 0;
    for (std::int64_t i = 0; i < seeds; ++i) sum += beyond(study, *found[static_cast<std::size_t>(i)].tested);
    losses.emplace_back(sum, law.name);
  }
  std::ranges::stable_sort(losses, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (const auto& [loss, law] : losses) out.push_back(law);
  return out;
}

}  // namespace isentropic::lab::length
