// The part "spread": how the spread of the initial scores affects gradients and the steps to a loss.
#include <fmt/format.h>

#include "lab/dynamics/sections.hpp"

namespace isentropic::lab::dynamics {
namespace {

using Json = nlohmann::ordered_json;

double first_norm(const Course& course) { return course.first().gradient_norm; }

// Over the first quarter of the steps, without the first step.
double early_norm(const Course& course) {
  std::vector<double> norms;
  for (const Point& point : course.points)
    if (point.step > 1 && (4 * point.step <= course.setting.steps || norms.empty()))
      norms.push_back(point.gradient_norm);
  return norms.empty() ? first_norm(course) : mean_of(norms);
}

double first_entropy(const Course& course) { return course.first().mean_entropy(); }
double best_loss(const Course& course) { return course.best_loss(); }

}  // namespace

Section spread_section(const Study& study, const Courses& courses) {
  Section out{
      "spread", "Spread of the initial scores",
      "Query and key weights start `gain` times as large, so scores are gain^2 times as large. How does this affect "
      "gradients and the steps to the training loss that the plain model has halfway through?"};
  out.tables = {{.title = "Means over seeds",
                 .columns = {"gain", "initial H / log k", "initial gradient", "early gradient", "steps to loss",
                             "lowest validation"}},
                {.title = "Difference from the plain model",
                 .columns = {"gain", "initial gradient", "early gradient", "steps to loss", "lowest validation"}}};
  out.numbers = Json::array();
  report::Plot losses{.title = "Training loss", .x_label = "step", .y_label = "nats per token"};
  report::Plot entropies{.title = "Mean H / log k", .x_label = "step", .y_label = "H / log k"};
  const Setting first = plain(study);
  for (const Setting& setting : spreads(study)) {
    const std::string gain = fmt::format("{:g}", setting.gain);
    const std::vector<double> steps = steps_to_loss(study, courses, setting);
    const auto mean = [&](auto&& number) { return mean_of(courses.numbers(setting, number)); };
    const auto less = [&](auto&& number) {
      return paired(courses.numbers(setting, number), courses.numbers(first, number));
    };
    out.tables[0].rows.push_back({gain, fmt::format("{:.4f}", mean(first_entropy)),
                                  fmt::format("{:.3f}", mean(first_norm)), fmt::format("{:.3f}", mean(early_norm)),
                                  fmt::format("{:.0f}", mean_of(steps)), fmt::format("{:.4f}", mean(best_loss))});
    losses.curves.push_back(curve_of(courses, setting, "gain " + gain, [](const Point& p) { return p.loss; }));
    entropies.curves.push_back(
        curve_of(courses, setting, "gain " + gain, [](const Point& p) { return p.mean_entropy(); }));
    Json numbers = {{"gain", setting.gain},
                    {"first_entropy", mean(first_entropy)},
                    {"first_gradient_norm", mean(first_norm)},
                    {"early_gradient_norm", mean(early_norm)},
                    {"steps_to_loss", mean_of(steps)},
                    {"best_loss", mean(best_loss)}};
    if (setting != first) {
      const Paired more_steps = paired(steps, steps_to_loss(study, courses, first));
      out.tables[1].rows.push_back({gain, lab::text_of(less(first_norm), 3), lab::text_of(less(early_norm), 3),
                                    lab::text_of(more_steps, 0), lab::text_of(less(best_loss), 4)});
      numbers["more_steps"] = json_of(more_steps);
      numbers["more_loss"] = json_of(less(best_loss));
      out.findings.push_back(fmt::format("gain {}: steps to the loss {}, lowest validation loss {}", gain,
                                         lab::text_of(more_steps, 0), lab::text_of(less(best_loss), 4)));
    }
    out.numbers.push_back(numbers);
  }
  out.plots = {losses, entropies};
  return out;
}

}  // namespace isentropic::lab::dynamics
