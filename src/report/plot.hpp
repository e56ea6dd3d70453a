// What a curve plot shows, whoever draws it: an HTML page (page.hpp) draws it with D3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace isentropic::report {

enum class PlotScale : std::uint8_t { linear, log };

enum class CurveStyle : std::uint8_t {
  measured,  // points joined by a line
  formula,   // a plain line
  points,    // points that are not joined, in the colour of the curve before them
  bound      // dashed, grey: a limit rather than a value
};

struct PlotCurve {
  std::string label = {};
  std::vector<double> x = {}, y = {};  // points that are not finite are left out
  CurveStyle style = CurveStyle::measured;
};

struct Plot {
  std::string title = {}, x_label = {}, y_label = {};
  PlotScale x_scale = PlotScale::linear, y_scale = PlotScale::linear;
  std::vector<PlotCurve> curves = {};
};

}  // namespace isentropic::report
