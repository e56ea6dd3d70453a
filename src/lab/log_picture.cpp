// Draws the curves of log.jsonl.
#include "lab/log_picture.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <vector>

#include "report/chart.hpp"

namespace isentropic::lab {
namespace {

using report::Line;
using report::Stroke;

constexpr std::size_t kPoints = 100;  // of the training loss: means over neighbouring steps, as single ones are noisy

struct Curves {
  Line training{"training", {}, {}, 0, Stroke::plain};
  Line validation{"validation", {}, {}, 0, Stroke::strong};
  std::vector<Line> entropies;  // by layer
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void add_entropies(double step, const std::vector<std::vector<double>>& heads_by_layer, std::vector<Line>* lines) {
  while (lines->size() < heads_by_layer.size()) {
    const auto layer = static_cast<int>(lines->size());
    lines->push_back({"layer " + std::to_string(layer), {}, {}, layer, Stroke::plain});
  }
  for (std::size_t layer = 0; layer < heads_by_layer.size(); ++layer) {
    (*lines)[layer].x.push_back(step);
    (*lines)[layer].y.push_back(mean(heads_by_layer[layer]));
  }
}

Curves read(const std::string& log) {
  Curves out;
  std::istringstream lines(log);
  for (std::string text; std::getline(lines, text);) {
    const auto line = nlohmann::json::parse(text);
    const double step = line.at("step");
    if (line.contains("validation_loss")) {
      out.validation.x.push_back(step);
      out.validation.y.push_back(line["validation_loss"]);
    }
    if (line.contains("loss")) {
      out.training.x.push_back(step);
      out.training.y.push_back(line["loss"]);
    }
    if (line.contains("normalised_entropy")) add_entropies(step, line["normalised_entropy"], &out.entropies);
  }
  return out;
}

// Averages groups of neighbouring points.
Line smoothed(const Line& line) {
  Line out{line.label, {}, {}, line.colour, line.stroke};
  const std::size_t count = line.x.size(), points = std::min(count, kPoints);
  for (std::size_t i = 0; i < points; ++i) {
    const auto begin = static_cast<std::ptrdiff_t>(count * i / points);
    const auto end = static_cast<std::ptrdiff_t>(count * (i + 1) / points);
    out.x.push_back(mean({line.x.begin() + begin, line.x.begin() + end}));
    out.y.push_back(mean({line.y.begin() + begin, line.y.begin() + end}));
  }
  return out;
}

report::Panel panel(const std::string& title, const std::string& quantity, double steps, std::vector<Line> lines) {
  double low = INFINITY, high = -INFINITY;
  for (const Line& line : lines)
    for (const double y : line.y) low = std::min(low, y), high = std::max(high, y);
  return {title, report::linear_axis("step", 0, steps), report::linear_axis(quantity, low, high), std::move(lines)};
}

}  // namespace

std::string log_picture(const std::string& title, const std::string& log) {
  Curves curves = read(log);
  const double steps = curves.training.x.empty() ? 1 : curves.training.x.back();
  std::vector<Line> losses = {smoothed(curves.training)};
  if (!curves.validation.x.empty()) losses.push_back(curves.validation);
  report::Figure out{title, "Loss in nats for each token; entropy is a mean over the heads and rows of a step.", {}};
  out.panels.push_back(panel("Loss", "nats", steps, std::move(losses)));
  if (!curves.entropies.empty())
    out.panels.push_back(panel("Entropy of attention, H / log k", "H / log k", steps, std::move(curves.entropies)));
  return report::svg(out);
}

}  // namespace isentropic::lab
