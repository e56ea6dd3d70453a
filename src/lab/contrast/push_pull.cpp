// Computes the gradients by autograd and draws them as arrows.
#include "lab/contrast/push_pull.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/random.hpp"
#include "isentropic/pytorch/contrastive_losses.hpp"
#include "lab/numbers.hpp"
#include "report/chart.hpp"

namespace isentropic::lab::contrast {
namespace {

constexpr std::size_t kNegatives = 10;
constexpr double kPi = std::numbers::pi, kLongest = 0.5;
constexpr double kEdge = 1.3, kHeight = 340.0 / 288;  // panel height relative to its width, so that circles are round

// Colours of the anchor, its positive and the negatives.
enum Colour : int { kAnchor, kPositive, kNegative };

// Angles: the anchor at the top, its positive a sixth of a turn away, negatives anywhere.
std::vector<double> angles_of(std::uint64_t seed) {
  Random random(seed);
  std::vector<double> out = {kPi / 2, kPi / 2 - kPi / 3};
  for (std::size_t i = 0; i < kNegatives; ++i) out.push_back(random.uniform(0, 2 * kPi));
  return out;
}

struct Polyline {
  std::vector<double> x, y;
};

Polyline circle() {
  Polyline out;
  for (int i = 0; i <= 72; ++i) {
    out.x.push_back(std::cos(i * kPi / 36));
    out.y.push_back(std::sin(i * kPi / 36));
  }
  return out;
}

// A shaft and a head as one polyline.
Polyline arrow(const Moved& point) {
  const double x = point.x + point.right, y = point.y + point.up, size = 0.25;
  const double left_x = x - size * (point.right + 0.6 * point.up), left_y = y - size * (point.up - 0.6 * point.right);
  const double right_x = x - size * (point.right - 0.6 * point.up), right_y = y - size * (point.up + 0.6 * point.right);
  return {{point.x, x, left_x, x, right_x}, {point.y, y, left_y, y, right_y}};
}

struct Group {
  const char* label;
  Colour colour;
  std::vector<Moved> points;
};

std::vector<Group> groups_of(const PushPull& found) {
  return {{"anchor", kAnchor, {found.anchor}},
          {"positive", kPositive, {found.positive}},
          {"negatives", kNegative, found.negatives}};
}

Polyline places(const Group& group) {
  Polyline out;
  for (const Moved& point : group.points) out.x.push_back(point.x), out.y.push_back(point.y);
  return out;
}

}  // namespace

std::vector<double> temperatures_to_draw(std::vector<double> temperatures) {
  std::sort(temperatures.begin(), temperatures.end());
  if (temperatures.size() <= 3) return temperatures;
  return {temperatures.front(), temperatures[temperatures.size() / 2], temperatures.back()};
}

std::vector<PushPull> push_and_pull(std::uint64_t seed, const std::vector<double>& temperatures) {
  const std::vector<double> angles = angles_of(seed);
  const at::Tensor turned = at::tensor(angles, at::kDouble);
  const at::Tensor points = at::stack({turned.cos(), turned.sin()}, 1);
  std::vector<PushPull> out;
  for (const double temperature : temperatures) {
    const at::Tensor anchor = points.slice(0, 0, 1).clone().requires_grad_();
    const at::Tensor keys = points.slice(0, 1).clone().requires_grad_();
    const at::Tensor loss =
        pytorch::info_nce(anchor, keys, {.temperature = temperature, .positives = at::zeros({1}, at::kLong)}).loss;
    const auto gradients = torch::autograd::grad({loss}, {anchor, keys});
    at::Tensor steps = -at::cat({gradients[0], gradients[1]});
    steps = steps * (kLongest / steps.norm(2, 1).max().clamp_min(1e-300));
    const std::vector<double> at = numbers_of(points), by = numbers_of(steps);
    PushPull found{.temperature = temperature};
    for (std::size_t i = 0; i < angles.size(); ++i) {
      const Moved moved{at[2 * i], at[2 * i + 1], by[2 * i], by[2 * i + 1]};
      if (i == 0)
        found.anchor = moved;
      else if (i == 1)
        found.positive = moved;
      else
        found.negatives.push_back(moved);
    }
    out.push_back(std::move(found));
  }
  return out;
}

std::string push_pull_picture(const std::vector<PushPull>& found) {
  report::Figure out{
      "Push and pull of InfoNCE on the circle",
      "Gradient descent steps of one anchor's loss; arrows are scaled so that the longest in each panel is the same.",
      {}};
  for (const PushPull& one : found) {
    report::Panel panel{fmt::format("temperature {:g}", one.temperature),
                        {.label = "", .low = -kEdge, .high = kEdge},
                        {.label = "", .low = -kEdge * kHeight, .high = kEdge * kHeight},
                        {}};
    const Polyline round = circle();
    panel.lines.push_back({"", round.x, round.y, 0, report::Stroke::ceiling});
    for (const Group& group : groups_of(one)) {
      for (const Moved& point : group.points) {
        const Polyline line = arrow(point);
        panel.lines.push_back({"", line.x, line.y, group.colour, report::Stroke::plain});
      }
      const Polyline dots = places(group);
      panel.lines.push_back({group.label, dots.x, dots.y, group.colour, report::Stroke::points});
    }
    out.panels.push_back(std::move(panel));
  }
  return report::svg(out);
}

report::Plot push_pull_plot(const PushPull& found) {
  report::Plot out{.title = fmt::format("Temperature {:g}", found.temperature)};
  const Polyline round = circle();
  out.curves.push_back({.label = "", .x = round.x, .y = round.y, .style = report::CurveStyle::bound});
  for (const Group& group : groups_of(found)) {
    for (const Moved& point : group.points) {
      const Polyline line = arrow(point);
      out.curves.push_back(
          {.label = "", .x = line.x, .y = line.y, .style = report::CurveStyle::formula, .colour = group.colour});
    }
    const Polyline dots = places(group);
    out.curves.push_back({.label = group.label, .x = dots.x, .y = dots.y, .style = report::CurveStyle::points});
  }
  return out;
}

}  // namespace isentropic::lab::contrast
