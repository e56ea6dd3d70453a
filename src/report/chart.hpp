// Line charts as one self-contained SVG text: no scripts, no fonts to fetch, light and dark by the reader's preference.
//
// A figure is one or more rows of panels with a common title. Lines are labelled at their right end; overlapping labels
// are moved apart and joined to their lines. Colours are Okabe and Ito's, which are safe for colour blindness;
// neighbours in the list differ most.
//
//   write_file("--svg", path, svg({.title = "...", .subtitle = "...", .panels = {panel}}));
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace isentropic::report {

struct Tick {
  double value;
  std::string label;  // empty: a tick without a number
};

enum class AxisScale : std::uint8_t { linear, log };

struct Axis {
  std::string label;
  double low = 0, high = 1;
  AxisScale scale = AxisScale::linear;
  std::vector<Tick> ticks = {};

  // The relative position of a value between low (0) and high (1).
  double position(double value) const;
};

// low and high rounded outwards to multiples of a step 1, 2 or 5 times a power of ten; about `count` ticks.
Axis linear_axis(std::string label, double low, double high, int count = 6);
// A tick at every power of two from low to high (both powers of two), a number at every other one and at the end.
Axis log2_axis(std::string label, double low, double high);
// The same for powers of ten, from the last one not above low to the first not below high; for less than three decades
// also 2 and 5 times the powers in between.
Axis log10_axis(std::string label, double low, double high);

enum class Stroke : std::uint8_t {
  plain,
  strong,   // the line the picture is about
  ceiling,  // dashed, grey: a bound, not a measurement
  points,   // unconnected dots
  strong_points
};

struct Line {
  std::string label;
  std::vector<double> x, y;  // non-finite points are skipped
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
  std::size_t columns = 0;   // panels per row; 0: all
  double label_width = 138;  // for the labels to the right of a panel
};

std::string svg(const Figure& figure);

// Text safe inside XML.
std::string escape(const std::string& text);

// Positions as close to `wanted` as possible, at least `gap` apart, in the same order, within [low, high] if they fit.
std::vector<double> spread(const std::vector<double>& wanted, double gap, double low, double high);

}  // namespace isentropic::report
