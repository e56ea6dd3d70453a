// The part "regulariser": encouraging or discouraging entropy, and label smoothing, against their claimed effects.
#include <fmt/format.h>

#include "lab/dynamics/sections.hpp"

namespace isentropic::lab::dynamics {
namespace {

using Json = nlohmann::ordered_json;

// A quantity measured in every run.
struct Quantity {
  const char *name, *title;
  int digits;
  double (*of)(const Course& course);  // null: steps to the loss
};

constexpr Quantity kQuantities[] = {
    {"entropy", "H / log k", 4, [](const Course& c) { return c.last().mean_entropy(); }},
    {"training_loss", "training", 4, [](const Course& c) { return c.last().loss; }},
    {"best_loss", "lowest validation", 4, [](const Course& c) { return c.best_loss(); }},
    {"last_loss", "last validation", 4, [](const Course& c) { return c.last_loss(); }},
    {"overfitting", "last - lowest", 4, [](const Course& c) { return c.overfitting(); }},
    {"steps_to_loss", "steps to loss", 0, nullptr},
    {"score_noise", "score noise", 4, [](const Course& c) { return c.score_noise; }},
    {"token_noise", "token noise", 4, [](const Course& c) { return c.token_noise; }},
};

std::string name_of(const Setting& setting) {
  if (setting.entropy_weight != 0)
    return fmt::format("{} {:g}", setting.entropy_weight > 0 ? "encourage" : "discourage",
                       std::abs(setting.entropy_weight));
  return setting.label_smoothing > 0 ? fmt::format("label smoothing {:g}", setting.label_smoothing) : "plain";
}

}  // namespace

Section regulariser_section(const Study& study, const Courses& courses) {
  Section out{
      "regulariser", "Entropy as a regulariser",
      fmt::format("A term in the mean H / log k of all heads, or label smoothing. Robustness: how much noise of "
                  "standard deviation {:g} on the scores, or replacing a fraction {:g} of the input tokens, "
                  "adds to the final validation loss.",
                  study.score_noise, study.token_noise)};
  out.tables = {{.title = "Means over seeds", .columns = {"term"}},
                {.title = "Difference from the plain model", .columns = {"term"}}};
  for (const Quantity& quantity : kQuantities)
    for (report::DataTable& table : out.tables) table.columns.emplace_back(quantity.title);
  out.numbers = Json::array();
  report::Plot losses{.title = "Validation loss", .x_label = "step", .y_label = "nats per token"};
  report::Plot entropies{.title = "Mean H / log k", .x_label = "step", .y_label = "H / log k"};
  const Setting first = plain(study);
  for (const Setting& setting : regularisers(study)) {
    const std::string name = name_of(setting);
    losses.curves.push_back(curve_of(courses, setting, name, [](const Point& p) { return p.validation_loss; }));
    entropies.curves.push_back(curve_of(courses, setting, name, [](const Point& p) { return p.mean_entropy(); }));
    std::vector<std::string> levels = {name}, differences = {name};
    std::string finding = name + ":", none;
    Json numbers = {{"term", name}};
    for (const Quantity& quantity : kQuantities) {
      const auto values = [&](const Setting& of) {
        return quantity.of ? courses.numbers(of, quantity.of) : steps_to_loss(study, courses, of);
      };
      const Paired difference = paired(values(setting), values(first));
      levels.push_back(fmt::format("{:.{}f}", mean_of(values(setting)), quantity.digits));
      differences.push_back(lab::text_of(difference, quantity.digits));
      numbers[quantity.name] = {{"mean", mean_of(values(setting))}, {"less_plain", json_of(difference)}};
      if (difference.beyond_spread() || difference.seeds < 2)  // one seed: not known to be none
        finding += fmt::format(" {} {},", quantity.title, differences.back());
      else
        none += fmt::format(" {},", quantity.title);
    }
    out.tables[0].rows.push_back(levels);
    out.numbers.push_back(numbers);
    if (setting == first) continue;
    out.tables[1].rows.push_back(differences);
    if (!none.empty()) finding += " none in" + none;
    finding.pop_back();
    out.findings.push_back(finding);
  }
  out.plots = {losses, entropies};
  return out;
}

}  // namespace isentropic::lab::dynamics
