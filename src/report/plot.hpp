// What a curve plot shows, whoever draws it: an HTML page (page.hpp) draws it with D3.
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
  points,    // points that are not joined, in the colour of the curve before them
  bound      // dashed, grey: a limit rather than a value
};

inline constexpr int kInk = -1;  // the colour of the text: for the curve that the others are compared with

struct PlotCurve {
  std::string label = {};
  std::vector<double> x = {}, y = {};  // points that are not finite are left out
  CurveStyle style = CurveStyle::measured;
  std::optional<int> colour = {};  // 0 ... 7 or kInk; none: the next one. What belongs together across plots shares it
};

struct Plot {
  std::string title = {}, x_label = {}, y_label = {};
  PlotScale x_scale = PlotScale::linear, y_scale = PlotScale::linear;
  std::vector<PlotCurve> curves = {};
};

}  // namespace isentropic::report
