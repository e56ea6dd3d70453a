// Chooses axes and strokes for plots.
#include "report/plot_picture.hpp"

#include <algorithm>
#include <cmath>

namespace isentropic::report {
namespace {

using Values = std::vector<double> PlotCurve::*;

struct Range {
  double low = INFINITY, high = -INFINITY;
  bool whole = true;
};

Range range_of(const Plot& plot, Values values, PlotScale scale) {
  Range out;
  for (const PlotCurve& curve : plot.curves)
    for (const double x : curve.*values) {
      if (!std::isfinite(x) || (scale == PlotScale::log && x <= 0)) continue;
      out.low = std::min(out.low, x), out.high = std::max(out.high, x);
      out.whole = out.whole && x == std::floor(x);
    }
  return out.low <= out.high ? out : Range{.low = 1, .high = 2};
}

Axis axis_of(const std::string& label, const Plot& plot, Values values, PlotScale scale) {
  const Range range = range_of(plot, values, scale);
  if (scale == PlotScale::linear) return linear_axis(label, range.low, range.high);
  if (!range.whole) return log10_axis(label, range.low, range.high);
  const double low = std::exp2(std::floor(std::log2(range.low)));
  return log2_axis(label, low, std::max(2 * low, std::exp2(std::ceil(std::log2(range.high)))));
}

Stroke stroke_of(const PlotCurve& curve) {
  if (curve.style == CurveStyle::bound) return Stroke::ceiling;
  const bool strong = curve.colour == kInk;
  if (curve.style == CurveStyle::points) return strong ? Stroke::strong_points : Stroke::points;
  return strong ? Stroke::strong : Stroke::plain;
}

// Charts have no label on the vertical axis.
std::string title_of(const Plot& plot) {
  const bool named = plot.y_label.empty() || plot.title.find(plot.y_label) != std::string::npos;
  return named ? plot.title : plot.title + ": " + plot.y_label;
}

}  // namespace

Panel panel_of(const Plot& plot) {
  Panel out{.title = title_of(plot),
            .x = axis_of(plot.x_label, plot, &PlotCurve::x, plot.x_scale),
            .y = axis_of(plot.y_label, plot, &PlotCurve::y, plot.y_scale),
            .lines = {}};
  int next = 0;
  for (const PlotCurve& curve : plot.curves) {
    const Stroke stroke = stroke_of(curve);
    const bool has_own = stroke == Stroke::ceiling || curve.colour;
    if (curve.style == CurveStyle::points && !has_own) --next;  // the previous curve's colour
    out.lines.push_back({curve.label, curve.x, curve.y, curve.colour.value_or(std::max(next, 0)), stroke});
    if (!has_own) ++next;
  }
  return out;
}

Figure figure_of(const std::string& title, const std::string& subtitle, const std::vector<Plot>& plots,
                 std::size_t columns) {
  Figure out{.title = title, .subtitle = subtitle, .panels = {}, .columns = columns};
  for (const Plot& plot : plots) out.panels.push_back(panel_of(plot));
  return out;
}

}  // namespace isentropic::report
