// The contents of a curve plot, independent of who draws it: an HTML page (page.hpp) draws it with D3.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace isentropic::report {

enum class PlotScale : std::uint8_t { linear, log };

enum class CurveStyle : std::uint8_t {
  measured,  // points joined by a line
  formula,   // a plain line
  points,    // unconnected points, in the colour of the previous curve
  bound      // dashed, grey: a limit, not a value
};

inline constexpr int kInk = -1;  // the text colour: for the curve that the others are compared with

struct PlotCurve {
  std::string label = {};
  std::vector<double> x = {}, y = {};  // non-finite points are skipped
  CurveStyle style = CurveStyle::measured;
  std::optional<int> colour = {};  // 0 ... 7 or kInk; none: the next one. Shared by what belongs together across plots
};

struct Plot {
  std::string title = {}, x_label = {}, y_label = {};
  PlotScale x_scale = PlotScale::linear, y_scale = PlotScale::linear;
  std::vector<PlotCurve> curves = {};
};

}  // namespace isentropic::report
