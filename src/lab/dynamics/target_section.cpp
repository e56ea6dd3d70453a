// The part "target": validation loss against the entropy that attention is held at, and whether the best one transfers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/dynamics/sections.hpp"

namespace isentropic::lab::dynamics {
namespace {

using Json = nlohmann::ordered_json;

double lowest(const Course& course) { return course.best_loss(); }

std::string task_name(const Study& study, const Setting& task) {
  return task == tasks(study).front() ? fmt::format("{}, n = {}", task.objective, task.length) : task.label(study);
}

// The sweep of one task.
struct Sweep {
  Setting task;
  std::vector<double> free;                 // without a target, by seed
  std::vector<std::vector<double>> losses;  // by target and seed

  std::size_t best() const {
    std::vector<double> means;
    for (const auto& seeds : losses) means.push_back(mean_of(seeds));
    return static_cast<std::size_t>(std::ranges::min_element(means) - means.begin());
  }
  // Whether both ends of the sweep are worse than its best target by more than the spread.
  bool has_inner_optimum() const {
    const std::size_t at = best();
    return at > 0 && at + 1 < losses.size() && paired(losses.front(), losses[at]).beyond_spread() &&
           paired(losses.back(), losses[at]).beyond_spread();
  }
};

std::vector<double> sorted_targets(const Study& study) {
  std::vector<double> out = study.targets;
  std::ranges::sort(out);
  return out;
}

std::vector<Sweep> sweeps_of(const Study& study, const Courses& courses) {
  std::vector<Sweep> out;
  for (const Setting& task : tasks(study)) {
    Sweep sweep{task, courses.numbers(task, lowest), {}};
    for (const double target : sorted_targets(study))
      sweep.losses.push_back(courses.numbers(with_target(task, target), lowest));
    out.push_back(std::move(sweep));
  }
  return out;
}

report::DataTable losses_table(const Study& study, const std::vector<Sweep>& sweeps) {
  report::DataTable out{.title = "Lowest validation loss (nats)", .columns = {"H*"}};
  for (const Sweep& sweep : sweeps) out.columns.push_back(task_name(study, sweep.task));
  const std::vector<double> targets = sorted_targets(study);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    out.rows.push_back({fmt::format("{:g}", targets[i])});
    for (const Sweep& sweep : sweeps) out.rows.back().push_back(fmt::format("{:.4f}", mean_of(sweep.losses[i])));
  }
  out.rows.push_back({"free"});
  for (const Sweep& sweep : sweeps) out.rows.back().push_back(fmt::format("{:.4f}", mean_of(sweep.free)));
  return out;
}

report::Plot plot_of(const Study& study, const std::vector<Sweep>& sweeps) {
  report::Plot out{.title = "Lowest validation loss relative to 1 / sqrt d",
                   .x_label = "target entropy H*, nats",
                   .y_label = "nats per token"};
  const std::vector<double> targets = sorted_targets(study);
  for (const Sweep& sweep : sweeps) {
    const std::string name = task_name(study, sweep.task);
    const std::size_t comma = name.find(", ");  // tasks differ in what follows the objective
    report::PlotCurve curve{.label = comma == std::string::npos ? name : name.substr(comma + 2), .x = targets};
    for (const auto& seeds : sweep.losses) curve.y.push_back(mean_of(seeds) - mean_of(sweep.free));
    out.curves.push_back(curve);
  }
  return out;
}

}  // namespace

Section target_section(const Study& study, const Courses& courses) {
  Section out{
      "target", "Attention held at a target entropy",
      "The scale of every row is solved so that its entropy is H* nats, as far as its keys allow. Is there a best "
      "H*, and does the best H* of the first task carry over to the others?"};
  const std::vector<Sweep> sweeps = sweeps_of(study, courses);
  const std::vector<double> targets = sorted_targets(study);
  const std::size_t first_best = sweeps.front().best();
  out.tables.push_back(losses_table(study, sweeps));
  out.tables.push_back({.title = "Best H* for each task",
                        .columns = {"task", "best H*", "H* / log n", "smallest H*", "largest H*", "1 / sqrt d",
                                    fmt::format("H* = {:g} of the first task", targets[first_best])}});
  out.numbers = Json::array();
  for (const Sweep& sweep : sweeps) {
    const std::size_t best = sweep.best();
    const std::string task = task_name(study, sweep.task);
    const auto against = [&](const std::vector<double>& others) { return paired(others, sweep.losses[best]); };
    const Paired smallest = against(sweep.losses.front()), largest = against(sweep.losses.back()),
                 free = against(sweep.free), transferred = against(sweep.losses[first_best]);
    const double share = targets[best] / std::log(static_cast<double>(sweep.task.length));
    const bool same = best == first_best;
    out.tables[1].rows.push_back({task, fmt::format("{:g}", targets[best]), fmt::format("{:.2f}", share),
                                  best == 0 ? "it is" : lab::text_of(smallest, 4),
                                  best + 1 == targets.size() ? "it is" : lab::text_of(largest, 4),
                                  lab::text_of(free, 4), same ? "the same" : lab::text_of(transferred, 4)});
    out.numbers.push_back({{"task", task},
                           {"best_target", targets[best]},
                           {"best_target_over_log_n", share},
                           {"inner_optimum", sweep.has_inner_optimum()},
                           {"free_more", json_of(free)},
                           {"transfer_costs", json_of(transferred)}});
    for (std::size_t i = 0; i < targets.size(); ++i)
      out.numbers.back()["losses"].push_back({{"target", targets[i]}, {"loss", mean_of(sweep.losses[i])}});
    const bool one_seed = free.seeds < 2;
    const char* ends = one_seed                    ? "with one seed, which cannot tell the ends of the sweep from it"
                       : sweep.has_inner_optimum() ? "with both ends of the sweep worse"
                                                   : "but an end of the sweep is as good";
    std::string finding = fmt::format("{}: best at H* = {:g}, {}; 1 / sqrt d minus that: {}", task, targets[best], ends,
                                      lab::text_of(free, 4));
    if (&sweep != &sweeps.front())
      finding += fmt::format(
          "; the first task's H* = {:g} {}", targets[first_best],
          transferred.beyond_spread() || (one_seed && !same) ? "costs " + lab::text_of(transferred, 4) : "is as good");
    out.findings.push_back(finding);
  }
  out.plots = {plot_of(study, sweeps)};
  return out;
}

}  // namespace isentropic::lab::dynamics
