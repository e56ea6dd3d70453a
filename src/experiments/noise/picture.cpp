// The noise experiment as an SVG chart: rms against n, measured and predicted.
#include <algorithm>
#include <cmath>

#include "experiments/noise/present.hpp"
#include "report/chart.hpp"

namespace isentropic::experiments::noise {
namespace {

// The axis for measured and predicted rms of every kind of noise, from a power of two to a power of two.
report::Axis rms_axis(const Results& results) {
  double low = 1e300, high = 0;
  for (const Curve& curve : results.curves)
    for (const Point& point : curve.points)
      for (const double x : {point.rms.mean, point.predicted_rms})
        if (std::isfinite(x) && x > 0) low = std::min(low, x), high = std::max(high, x);
  report::Axis axis{"rms change of the output", std::exp2(std::floor(std::log2(low))),
                    std::exp2(std::ceil(std::log2(high))), report::AxisScale::log};
  for (double x = axis.low; x <= axis.high; x *= 2)
    axis.ticks.push_back({x, x >= 1 ? "1" : "1/" + std::to_string(std::lround(1 / x))});
  return axis;
}

}  // namespace

std::string picture(const Results& results) {
  const std::vector<std::size_t>& lengths = experiment_lengths();
  report::Panel panel{
      "rms change, measured and predicted (dashed)",
      report::log2_axis("keys n", static_cast<double>(lengths.front()), static_cast<double>(lengths.back())),
      rms_axis(results),
      {}};
  int colour = 0;
  for (const Curve& curve : results.curves) {
    report::Line measured{curve.noise.label(), {}, {}, colour++}, predicted{"", {}, {}, 0, report::Stroke::ceiling};
    for (const Point& point : curve.points) {
      measured.x.push_back(static_cast<double>(point.n)), measured.y.push_back(point.rms.mean);
      predicted.x.push_back(static_cast<double>(point.n)), predicted.y.push_back(point.predicted_rms);
    }
    panel.lines.push_back(measured);
    if (std::isfinite(predicted.y.front())) panel.lines.push_back(predicted);
  }
  return report::svg({.title = "Noise on attention scores",
                      .subtitle = "how far the output moves, against the number of keys",
                      .panels = {panel}});
}

}  // namespace isentropic::experiments::noise
