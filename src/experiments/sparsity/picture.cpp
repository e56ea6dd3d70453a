// The sparsity experiment as an SVG chart: formulas as lines, measurements as points.
#include <fmt/format.h>

#include <set>

#include "experiments/sparsity/present.hpp"
#include "report/chart.hpp"

namespace isentropic::experiments::sparsity {
namespace {

using report::Line;
using report::Panel;
using report::Stroke;

std::string curve_label(const Curve& curve) {
  if (curve.map == WeightMap::exp) return "exp, any β";
  return fmt::format("β = {:g}", curve.beta);
}

// The formula as a line; what was measured as points on it.
void add_curve(const Results& results, const Curve& curve, int colour, Panel* panel) {
  const Stroke stroke = curve.map == WeightMap::exp ? Stroke::strong : Stroke::plain;
  Line line{curve_label(curve), {}, {}, colour, stroke};
  for (const double gamma : drawn_gammas()) {
    line.x.push_back(gamma);
    line.y.push_back(sparsity_of(curve.map, curve.beta, gamma));
  }
  panel->lines.push_back(line);
  panel->lines.push_back(
      {"", results.gammas, curve.mean, colour, stroke == Stroke::strong ? Stroke::strong_points : Stroke::points});
}

Panel panel_of(const Results& results, WeightMap map, const std::string& title, const std::string& limit) {
  Panel out{title,
            report::linear_axis("γ, the spread of the scores", 0, kWidestGamma, 6),
            report::linear_axis("S", 0, 1, 5),
            {}};
  out.lines.push_back({limit, {0, kWidestGamma}, {wide_limit(map), wide_limit(map)}, 0, Stroke::ceiling});
  for (const Curve& curve : results.curves)
    if (curve.map == map || curve.map == WeightMap::exp)
      add_curve(results, curve, colour_of(results, curve.beta), &out);
  return out;
}

}  // namespace

int colour_of(const Results& results, double beta) {
  std::set<double> lower;
  for (const Curve& curve : results.curves)
    if (curve.map != WeightMap::exp && curve.beta < beta) lower.insert(curve.beta);
  return static_cast<int>(lower.size());
}

std::string picture(const Results& results) {
  return report::svg(
      {"How sparse attention can be",
       fmt::format("S = E|a| / √E[a²] of weights a = f(s), s ~ N(β, γ²). Lines: formulas for n → ∞. Points: the "
                   "kernels over {} keys.",
                   results.options.keys),
       {panel_of(results, WeightMap::relu_squared, "S of relu²: near 0 only if β < 0", "limit 1/√6"),
        panel_of(results, WeightMap::identity, "S of the identity: never low", "floor √(2/π)")}});
}

}  // namespace isentropic::experiments::sparsity
