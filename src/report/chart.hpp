// Line charts as one self-contained SVG text: no scripts, no fonts to fetch, light and dark by the reader's preference.
//
// A figure is one or more rows of panels that share a title. Lines are labelled where they end, at the right; labels
// that would overlap are pushed apart and joined to their line. Colours are Okabe and Ito's, which survive colour
// blindness, and neighbours in the list differ most.
//
//   write_file("--svg", path, svg({.title = "...", .subtitle = "...", .panels = {panel}}));
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace isentropic::report {

struct Tick {
  double value;
  std::string label;  // empty: a mark without a number
};

enum class AxisScale : std::uint8_t { linear, log };

struct Axis {
  std::string label;
  double low = 0, high = 1;
  AxisScale scale = AxisScale::linear;
  std::vector<Tick> ticks = {};

  // Where a value lies between low (0) and high (1).
  double position(double value) const;
};

// low and high rounded outwards to multiples of a step 1, 2 or 5 times a power of ten; about `count` ticks.
Axis linear_axis(std::string label, double low, double high, int count = 6);
// A mark at every power of two from low to high (both powers of two), a number at every other one and at the end.
Axis log2_axis(std::string label, double low, double high);
// The same for powers of ten, from the last not above low to the first not below high; over less than three decades
// with 2 and 5 times the powers between them.
Axis log10_axis(std::string label, double low, double high);

enum class Stroke : std::uint8_t {
  plain,
  strong,   // the line the picture is about
  ceiling,  // dashed, grey: a bound rather than a measurement
  points,   // dots that are not joined
  strong_points
};

struct Line {
  std::string label;
  std::vector<double> x, y;  // points that are not finite are left out
  int colour = 0;            // 0 ... kColours - 1, repeated beyond; strong and ceiling have their own
  Stroke stroke = Stroke::plain;
};

inline constexpr int kColours = 8;

struct Panel {
  std::string title;
  Axis x, y;
  std::vector<Line> lines;
};

struct Figure {
  std::string title, subtitle;
  std::vector<Panel> panels;
  std::size_t columns = 0;   // panels in a row; 0: all
  double label_width = 138;  // of the labels at the right of a panel
};

std::string svg(const Figure& figure);

// Text safe inside XML.
std::string escape(const std::string& text);

// Positions as near to `wanted` as possible, at least `gap` apart, in the same order, within [low, high] if they fit.
std::vector<double> spread(const std::vector<double>& wanted, double gap, double low, double high);

}  // namespace isentropic::report
