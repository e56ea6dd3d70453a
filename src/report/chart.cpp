// Lays out panels, lines and labels, and writes them as SVG.
#include "report/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace isentropic::report {
namespace {

// Sizes in user units; the picture is meant for a width of about 900 pixels.
constexpr double kPlotWidth = 288, kPlotHeight = 340, kLeft = 46, kTop = 112, kBottom = 48;
constexpr double kLabelGap = 15.5;   // between baselines of labels
constexpr double kLeader = 16;       // from the end of a line to its label
constexpr double kBetweenRows = 54;  // includes the title of the lower panel
constexpr double kRowHeight = kPlotHeight + kBottom + kBetweenRows;

struct Colour {
  const char *light, *dark;
};
constexpr Colour kPalette[kColours] = {
    {"#d55e00", "#ff8c42"},  // vermillion
    {"#0072b2", "#58b0ec"},  // blue
    {"#b5508a", "#e394c1"},  // reddish purple
    {"#7a7300", "#d3c84a"},  // olive instead of Okabe and Ito's yellow, which is invisible on white
    {"#00845f", "#3fcf9f"},  // bluish green
    {"#b87700", "#f2b134"},  // orange
    {"#6a4bb0", "#b39dff"},  // violet
    {"#2f8fc4", "#8fd3ff"},  // sky blue
};

std::string style() {
  std::string light, dark;
  for (int i = 0; i < kColours; ++i) {
    light += fmt::format(".c{0}{{stroke:{1}}}.t{0}{{fill:{1}}}", i, kPalette[i].light);
    dark += fmt::format(".c{0}{{stroke:{1}}}.t{0}{{fill:{1}}}", i, kPalette[i].dark);
  }
  return "text{font-family:system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,sans-serif;font-size:12px}"
         ".title{font-size:19px;font-weight:600}.panel{font-size:13.5px;font-weight:600}"
         ".tick{font-size:11px}.line{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}"
         ".strong{stroke-width:3.4}.strong-label{font-weight:700}.ceiling{stroke-dasharray:1.5 5}"
         ".dot.dot{stroke-width:1.5}.leader{fill:none;stroke-width:.8;opacity:.55}.grid{stroke-width:1}.axis{stroke-"
         "width:1}"
         // Light colours, then the overrides for dark mode.
         ".page,.dot{fill:#fff}.ink{fill:#1f2328}.soft{fill:#59636e}.grid{stroke:#e6e9ed}.axis{stroke:#9aa3ad}"
         ".strong{stroke:#1f2328}.strong-label{fill:#1f2328}.ceiling{stroke:#8b949e}.ceiling-label{fill:#6e7781}" +
         light +
         "@media(prefers-color-scheme:dark){.page,.dot{fill:#0d1117}.ink{fill:#e6edf3}.soft{fill:#9198a1}"
         ".grid{stroke:#21262d}.axis{stroke:#59636e}.strong{stroke:#f0f6fc}.strong-label{fill:#f0f6fc}"
         ".ceiling{stroke:#7d8590}.ceiling-label{fill:#9198a1}" +
         dark + "}";
}

std::string stroke_class(const Line& line) {
  if (line.stroke == Stroke::strong || line.stroke == Stroke::strong_points) return "strong";
  if (line.stroke == Stroke::ceiling) return "ceiling";
  return fmt::format("c{}", line.colour % kColours);
}

std::string label_class(const Line& line) {
  return line.stroke == Stroke::plain || line.stroke == Stroke::points ? fmt::format("t{}", line.colour % kColours)
                                                                       : stroke_class(line) + "-label";
}

struct Point {
  double x, y;
};

// Draws one panel whose left edge is at `left`, in the row whose plots begin at `top`.
class PanelWriter {
 public:
  PanelWriter(const Panel& panel, double left, double top) : panel_(panel), left_(left + kLeft), top_(top) {}

  std::string str() {
    frame();
    // Strong lines last, so that they are on top.
    for (const bool strong : {false, true})
      for (const Line& line : panel_.lines)
        if ((stroke_class(line) == "strong") == strong) curve(line);
    labels();
    return out_;
  }

 private:
  template <class... Values>
  void put(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
    out_ += '\n';
  }

  double x_of(double value) const { return left_ + kPlotWidth * panel_.x.position(value); }
  double y_of(double value) const { return top_ + kPlotHeight * (1 - panel_.y.position(value)); }

  std::vector<Point> points_of(const Line& line) const {
    std::vector<Point> out;
    for (std::size_t i = 0; i < std::min(line.x.size(), line.y.size()); ++i)
      if (std::isfinite(line.x[i]) && std::isfinite(line.y[i])) out.push_back({x_of(line.x[i]), y_of(line.y[i])});
    return out;
  }

  void frame() {
    const double bottom = top_ + kPlotHeight, right = left_ + kPlotWidth;
    put(R"(<text class="panel ink" x="{:.1f}" y="{:.1f}">{}</text>)", left_, top_ - 20, escape(panel_.title));
    for (const Tick& tick : panel_.y.ticks) {
      const double y = y_of(tick.value);
      put(R"(<line class="grid" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)", left_, y, right, y);
      put(R"(<text class="tick soft" x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", left_ - 8, y + 3.8,
          escape(tick.label));
    }
    put(R"(<line class="axis" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)", left_, bottom, right, bottom);
    for (const Tick& tick : panel_.x.ticks) {
      const double x = x_of(tick.value);
      const double length = tick.label.empty() ? 3 : 6;
      put(R"(<line class="axis" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)", x, bottom, x, bottom + length);
      if (!tick.label.empty())
        put(R"(<text class="tick soft" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", x, bottom + 19,
            escape(tick.label));
    }
    put(R"(<text class="soft" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", left_ + kPlotWidth / 2,
        bottom + 40, escape(panel_.x.label));
  }

  void curve(const Line& line) {
    const std::vector<Point> points = points_of(line);
    if (points.empty()) return;
    if (line.stroke == Stroke::points || line.stroke == Stroke::strong_points) {
      for (const Point& p : points)
        put(R"(<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="2.9"/>)", stroke_class(line), p.x, p.y);
      return;
    }
    std::string path;
    for (const Point& p : points) path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", p.x, p.y);
    if (points.size() == 1) path += "h0";  // with round caps: a dot
    put(R"(<path class="line {}" d="{}"/>)", stroke_class(line), path);
  }

  void labels() {
    std::vector<const Line*> lines;
    std::vector<Point> ends;
    std::vector<double> wanted;
    for (const Line& line : panel_.lines) {
      const std::vector<Point> points = points_of(line);
      if (points.empty() || line.label.empty()) continue;
      lines.push_back(&line);
      ends.push_back(points.back());
      wanted.push_back(points.back().y);
    }
    const std::vector<double> placed = spread(wanted, kLabelGap, top_ - 4, top_ + kPlotHeight - 4);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const double x = left_ + kPlotWidth + kLeader;
      put(R"(<path class="leader {}" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>)", stroke_class(*lines[i]), ends[i].x + 2.5,
          ends[i].y, x - 2.5, placed[i]);
      put(R"(<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>)", label_class(*lines[i]), x, placed[i] + 4,
          escape(lines[i]->label));
    }
  }

  const Panel& panel_;
  double left_, top_;
  std::string out_;
};

}  // namespace

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string svg(const Figure& figure) {
  const double margin = 14;
  const std::size_t panels = std::max<std::size_t>(1, figure.panels.size());
  const std::size_t columns = figure.columns == 0 ? panels : std::min(figure.columns, panels);
  const std::size_t rows = (panels + columns - 1) / columns;
  const double panel_width = kLeft + kPlotWidth + figure.label_width;
  const double width = 2 * margin + panel_width * static_cast<double>(columns);
  const double height = kTop - kBetweenRows + kRowHeight * static_cast<double>(rows) + margin;
  std::string out = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" role="img">)"
      "\n<title>{2}</title>\n<desc>{3}</desc>\n<style>{4}</style>\n"
      R"(<rect class="page" width="100%" height="100%"/>)"
      "\n"
      R"(<text class="title ink" x="{5:.0f}" y="36">{2}</text>)"
      "\n"
      R"(<text class="soft" x="{5:.0f}" y="57">{3}</text>)"
      "\n",
      width, height, escape(figure.title), escape(figure.subtitle), style(), margin + kLeft);
  for (std::size_t i = 0; i < figure.panels.size(); ++i)
    out += PanelWriter(figure.panels[i], margin + panel_width * static_cast<double>(i % columns),
                       kTop + kRowHeight * static_cast<double>(i / columns))
               .str();
  return out + "</svg>\n";
}

}  // namespace isentropic::report
