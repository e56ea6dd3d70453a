// The sparsity experiment as an SVG chart: formulas as lines, measurements as points.
#include <fmt/format.h>

#include "experiments/sparsity/diagrams.hpp"
#include "experiments/sparsity/present.hpp"
#include "report/chart.hpp"
#include "report/plot.hpp"

namespace isentropic::experiments::sparsity {
namespace {

using report::Stroke;

report::Panel panel(const Diagram& diagram) {
  report::Panel out{diagram.title,
                    diagram.doubles ? report::log2_axis(diagram.x_label, diagram.low, diagram.high)
                                    : report::linear_axis(diagram.x_label, diagram.low, diagram.high, 6),
                    report::linear_axis("S", 0, 1, 5),
                    {}};
  for (const Diagram::Bound& bound : diagram.bounds)
    out.lines.push_back({bound.label, {diagram.low, diagram.high}, {bound.s, bound.s}, 0, Stroke::ceiling});
  for (const Diagram::Curve& curve : diagram.curves) {
    const bool strong = curve.colour == report::kInk;
    const int colour = strong ? 0 : curve.colour;
    out.lines.push_back({curve.label, curve.x, curve.formula, colour, strong ? Stroke::strong : Stroke::plain});
    out.lines.push_back({"", curve.at, curve.measured, colour, strong ? Stroke::strong_points : Stroke::points});
  }
  return out;
}

}  // namespace

std::string picture(const Results& results) {
  report::Figure figure{
      "How sparse attention can be",
      fmt::format("S = E|a| / √E[a²] of weights a. Lines: formulas. Points: the kernels over {} keys.",
                  results.options.keys),
      {},
      2};
  for (const Diagram& diagram : diagrams(results)) figure.panels.push_back(panel(diagram));
  return report::svg(figure);
}

}  // namespace isentropic::experiments::sparsity
