// The part "entropy": its course by layer, head, step and objective, and around the minimum of the validation loss.
#include <fmt/format.h>

#include <cmath>

#include "lab/dynamics/sections.hpp"

namespace isentropic::lab::dynamics {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kQuarters[] = {0, 0.25, 0.5, 0.75, 1};

double entropy_at(const Course& course, double share) {
  return (share == 0 ? course.first() : course.at_share(share)).mean_entropy();
}

Paired change(const Courses& courses, const Setting& setting, double from, double to) {
  return paired(courses.numbers(setting, [&](const Course& c) { return entropy_at(c, to) - entropy_at(c, from); }));
}

// ---- stages ----

void add_stages(const Setting& setting, const Courses& courses, Section& out) {
  std::vector<std::string> levels = {setting.objective}, changes = {setting.objective}, words;
  Json& numbers = out.numbers[setting.objective]["quarters"] = Json::array();
  double largest = 0, all = 0;
  int largest_quarter = 1;
  for (std::size_t i = 0; i < std::size(kQuarters); ++i) {
    const double level =
        mean_of(courses.numbers(setting, [&](const Course& c) { return entropy_at(c, kQuarters[i]); }));
    levels.push_back(fmt::format("{:.4f}", level));
    if (i == 0) continue;
    const Paired step = change(courses, setting, kQuarters[i - 1], kQuarters[i]);
    changes.push_back(lab::text_of(step, 4));
    words.push_back(direction(step));
    numbers.push_back(json_of(step));
    all += std::abs(step.mean);
    if (std::abs(step.mean) > largest) largest = std::abs(step.mean), largest_quarter = static_cast<int>(i);
  }
  out.tables[0].rows.push_back(levels);
  out.tables[1].rows.push_back(changes);
  std::string finding = fmt::format(
      "{}: H / log k {} in the first quarter of training, {} in the second, {} in the third, {} in the last",
      setting.objective, words[0], words[1], words[2], words[3]);
  if (all > 0)
    finding += fmt::format("; quarter {} accounts for {:.0f}% of the change", largest_quarter, 100 * largest / all);
  out.findings.push_back(finding);
}

// ---- depth ----

// Least-squares slope of the final H / log k over the layers.
double slope_over_layers(const Course& course) {
  const auto count = static_cast<double>(course.last().entropy.size());
  double xy = 0, xx = 0;
  for (std::size_t layer = 0; layer < course.last().entropy.size(); ++layer) {
    const double x = static_cast<double>(layer) - (count - 1) / 2;
    xy += x * course.last().mean_entropy(layer);
    xx += x * x;
  }
  return xx > 0 ? xy / xx : 0;
}

void add_depth(const Study& study, const Setting& setting, const Courses& courses, Section& out) {
  std::vector<std::string> row = {setting.objective};
  Json layers = Json::array();
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(study.layers); ++layer) {
    layers.push_back(mean_of(courses.numbers(setting, [&](const Course& c) { return c.last().mean_entropy(layer); })));
    row.push_back(fmt::format("{:.4f}", layers.back().get<double>()));
  }
  const Paired slope = paired(courses.numbers(setting, slope_over_layers));
  row.push_back(lab::text_of(slope, 4));
  out.tables[2].rows.push_back(row);
  out.numbers[setting.objective]["layers"] = layers;
  out.numbers[setting.objective]["slope_per_layer"] = json_of(slope);
  out.findings.push_back(fmt::format("{}: at the end H / log k {} with depth", setting.objective, direction(slope)));
}

// ---- the minimum of the validation loss ----

// Change of H / log k per 100 steps.
double pace(const Point& from, const Point& to) {
  return 100 * (to.mean_entropy() - from.mean_entropy()) / static_cast<double>(to.step - from.step);
}

void add_turn(const Setting& setting, const Courses& courses, Section& out) {
  std::vector<double> turn, before, after, overfitting;
  bool all_fall = true;
  const std::vector<const Course*> runs = courses.of(setting);
  for (const Course* run : runs) {
    const Point& lowest = run->turn();
    const Point& half = run->at_share(0.5 * static_cast<double>(lowest.step) / static_cast<double>(run->setting.steps));
    all_fall &= lowest.step == run->last().step;
    if (lowest.step == run->last().step || half.step >= lowest.step) continue;  // no minimum inside the run
    turn.push_back(static_cast<double>(lowest.step));
    before.push_back(pace(half, lowest)), after.push_back(pace(lowest, run->last()));
    overfitting.push_back(run->overfitting());
  }
  const double best = mean_of(courses.numbers(setting, [](const Course& c) { return c.best_loss(); }));
  const double last = mean_of(courses.numbers(setting, [](const Course& c) { return c.last_loss(); }));
  Json& numbers = out.numbers[setting.objective]["turn"] = {
      {"seeds", runs.size()}, {"turned", turn.size()}, {"best_loss", best}, {"last_loss", last}};
  std::vector<std::string> row = {setting.objective, fmt::format("{} of {}", turn.size(), runs.size())};
  if (turn.empty()) {
    for (const std::string& cell : {std::string("-"), fmt::format("{:.4f}", best), fmt::format("{:.4f}", last)})
      row.push_back(cell);
    out.tables[3].rows.push_back(row);
    out.findings.push_back(setting.objective + (all_fall ? ": the validation loss is lowest at the last step"
                                                         : ": the validation loss is lowest at the start or the end"));
    return;
  }
  const Paired pace_before = paired(before), pace_after = paired(after);
  const double r = correlation(after, overfitting);
  const std::string over_seeds = std::isfinite(r) ? fmt::format("{:.2f}", r) : "-";
  for (const std::string& cell :
       {fmt::format("{:.0f}", mean_of(turn)), fmt::format("{:.4f}", best), fmt::format("{:.4f}", last),
        lab::text_of(pace_before, 4), lab::text_of(pace_after, 4), over_seeds})
    row.push_back(cell);
  out.tables[3].rows.push_back(row);
  numbers["step"] = mean_of(turn);
  numbers["pace_before"] = json_of(pace_before), numbers["pace_after"] = json_of(pace_after);
  numbers["correlation"] = std::isfinite(r) ? Json(r) : Json();
  out.findings.push_back(fmt::format(
      "{}: H / log k {} before the validation loss reaches its minimum and {} after it; the change after it and the "
      "rise of the validation loss have correlation {} over {} seeds",
      setting.objective, direction(pace_before), direction(pace_after), over_seeds, turn.size()));
}

// ---- plots ----

void add_plots(const Study& study, const Setting& setting, const Courses& courses, Section& out) {
  report::Plot layers{.title = "H / log k, " + setting.objective, .x_label = "step", .y_label = "H / log k"};
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(study.layers); ++layer)
    layers.curves.push_back(curve_of(courses, setting, fmt::format("layer {}", layer),
                                     [&](const Point& point) { return point.mean_entropy(layer); }));
  out.plots.push_back(layers);
  report::Plot losses{.title = "Loss, " + setting.objective, .x_label = "step", .y_label = "nats per token"};
  losses.curves.push_back(curve_of(courses, setting, "training", [](const Point& p) { return p.loss; }));
  losses.curves.push_back(curve_of(courses, setting, "validation", [](const Point& p) { return p.validation_loss; }));
  out.plots.push_back(losses);
  out.maps.push_back(
      {.title = fmt::format("H / log k by layer and head at the end, {}, seed {}", setting.objective, study.seed),
       .x_label = "head",
       .y_label = "layer",
       .rows = courses.of(setting).front()->last().entropy});
}

}  // namespace

Section entropy_section(const Study& study, const Courses& courses) {
  Section out{"entropy", "Entropy during training",
              "Does it fall fast and settle? Is it lower in deep layers? Does it fall when a model overfits?"};
  std::vector<std::string> by_layer = {"objective"};
  for (std::int64_t layer = 0; layer < study.layers; ++layer) by_layer.push_back(fmt::format("layer {}", layer));
  by_layer.emplace_back("slope per layer");
  out.tables = {{.title = "Mean H / log k", .columns = {"objective", "step 1", "25%", "50%", "75%", "100%"}},
                {.title = "Change in each quarter", .columns = {"objective", "first", "second", "third", "last"}},
                {.title = "H / log k at the end, by layer", .columns = by_layer},
                {.title = "Minimum of the validation loss; change of H / log k per 100 steps before it (from half its "
                          "steps on) and after",
                 .columns = {"objective", "reached", "at step", "lowest", "last", "before", "after", "correlation"}}};
  for (const Setting& setting : objectives(study)) {
    add_stages(setting, courses, out);
    add_depth(study, setting, courses, out);
    add_turn(setting, courses, out);
    add_plots(study, setting, courses, out);
  }
  const auto at_end = [](const Course& course) { return course.last().mean_entropy(); };
  const std::vector<Setting> both = objectives(study);
  const Paired difference = paired(courses.numbers(both[1], at_end), courses.numbers(both[0], at_end));
  out.numbers["masked_less_autoregressive"] = json_of(difference);
  out.findings.push_back("masked minus autoregressive, H / log k at the end: " + lab::text_of(difference, 4));
  return out;
}

}  // namespace isentropic::lab::dynamics
