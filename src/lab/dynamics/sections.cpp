// Combines the parts and writes them as text, page, figure and JSON.
#include "lab/dynamics/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/plot_picture.hpp"
#include "report/text_table.hpp"

namespace isentropic::lab::dynamics {
namespace {

using Json = nlohmann::ordered_json;

std::string seeds_text(const Study& study) {
  return fmt::format(
      "{} layers of {} heads, width {}, {} tokens; {} seeds from {}, differences: mean ± standard error, "
      "none where the 95% interval contains 0",
      study.layers, study.heads, study.width, study.length, study.seeds, study.seed);
}

}  // namespace

std::string direction(const Paired& change) {
  if (change.mean == 0) return "stays";
  const std::string way = change.mean > 0 ? "rises" : "falls";
  if (change.seeds == 1) return way + " (one seed)";
  return change.beyond_spread() ? way : "stays";
}

Json json_of(const Paired& difference) {
  return {{"mean", difference.mean},
          {"error", std::isfinite(difference.error) ? Json(difference.error) : Json()},
          {"seeds", difference.seeds},
          {"beyond_spread", difference.beyond_spread()}};
}

std::vector<double> steps_to_loss(const Study& study, const Courses& courses, const Setting& setting) {
  const std::vector<double> losses =
      courses.numbers(plain(study), [](const Course& course) { return course.at_share(0.5).loss; });
  std::vector<double> out;
  for (const Course* course : courses.of(setting)) out.push_back(course->steps_to(losses[out.size()]));
  return out;
}

std::vector<Section> sections_of(const Study& study, const Courses& courses) {
  std::vector<Section> out;
  if (study.has("entropy")) out.push_back(entropy_section(study, courses));
  if (study.has("spread")) out.push_back(spread_section(study, courses));
  if (study.has("regulariser")) out.push_back(regulariser_section(study, courses));
  if (study.has("target")) out.push_back(target_section(study, courses));
  return out;
}

std::string text_of(const std::vector<Section>& sections) {
  std::string out;
  for (const Section& section : sections) {
    out += (out.empty() ? "" : "\n") + section.title + "\n";
    for (const report::DataTable& data : section.tables) {
      report::TextTable table(data.columns);
      for (const auto& row : data.rows) table.add_row(row);
      out += "\n" + data.title + "\n\n" + table.str();
    }
    out += "\n";
    for (const std::string& finding : section.findings) out += finding + "\n";
  }
  return out;
}

std::string page_of(const Study& study, const std::vector<Section>& sections) {
  report::Page out{.title = "Attention entropy during training", .subtitle = seeds_text(study)};
  for (const Section& section : sections) {
    out.parts.push_back(report::Prose{section.title, {section.question}});
    report::Row plots, maps;
    for (const report::Plot& plot : section.plots) plots.parts.emplace_back(plot);
    for (const report::HeatMap& map : section.maps) maps.parts.emplace_back(map);
    out.parts.push_back(plots);
    if (!maps.parts.empty()) out.parts.push_back(maps);
    for (const report::DataTable& table : section.tables) out.parts.push_back(table);
    out.parts.push_back(report::Prose{"", section.findings});
  }
  return report::html(out);
}

std::string picture_of(const Section& section) {
  return report::svg(report::figure_of(section.title, "Means over seeds.", section.plots));
}

Json results_of(const Study& study, const Courses& courses, const std::vector<Section>& sections) {
  Json out = {{"study", "dynamics"}, {"options", options_of(study)}};
  for (const Section& section : sections)
    out[section.name] = {{"findings", section.findings}, {"numbers", section.numbers}};
  for (const Course& course : courses.all()) {
    Json run = json_of(course.setting);
    run["seed"] = course.seed;
    run["first_entropy"] = course.first().mean_entropy(), run["last_entropy"] = course.last().mean_entropy();
    run["last_nats"] = course.last().nats;
    run["training_loss"] = course.last().loss;
    run["best_loss"] = course.best_loss(), run["best_at"] = course.turn().step, run["last_loss"] = course.last_loss();
    run["score_noise"] = course.score_noise, run["token_noise"] = course.token_noise;
    out["runs"].push_back(run);
  }
  return out;
}

}  // namespace isentropic::lab::dynamics
