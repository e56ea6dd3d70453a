// Charts: ticks, label placement, and an SVG that is well-formed whatever the data.
#include "report/chart.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace isentropic::report {
namespace {

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> out;
  for (const Tick& tick : axis.ticks)
    if (!tick.label.empty()) out.push_back(tick.label);
  return out;
}

TEST(Axis, LinearTicksAreRound) {
  const Axis entropy = linear_axis("H", 0, 11.78);
  EXPECT_EQ(labels(entropy), (std::vector<std::string>{"0", "2", "4", "6", "8", "10", "12"}));
  EXPECT_EQ(entropy.high, 12);
  EXPECT_EQ(labels(linear_axis("p", 0, 1, 5)), (std::vector<std::string>{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(labels(linear_axis("x", -0.3, 0.4, 4)), (std::vector<std::string>{"-0.4", "-0.2", "0.0", "0.2", "0.4"}));
  EXPECT_GT(linear_axis("x", 3, 3).high, 3);  // an empty range still has a width
}

TEST(Axis, Log2TicksEndAtTheEnd) {
  const Axis axis = log2_axis("n", 64, 131072);
  EXPECT_EQ(axis.ticks.size(), 12u);
  EXPECT_EQ(labels(axis), (std::vector<std::string>{"64", "256", "1024", "4096", "16384", "131072"}));
  EXPECT_DOUBLE_EQ(axis.position(64), 0);
  EXPECT_DOUBLE_EQ(axis.position(131072), 1);
  EXPECT_NEAR(axis.position(128), 1.0 / 11, 1e-12);
}

TEST(Spread, KeepsOrderAndDistance) {
  EXPECT_EQ(spread({10, 50, 90}, 12, 0, 100), (std::vector<double>{10, 50, 90}));
  EXPECT_EQ(spread({50, 50}, 12, 0, 100), (std::vector<double>{44, 56}));
  const std::vector<double> placed = spread({3, 1, 2, 99, 98, 50}, 12, 0, 100);
  std::vector<double> sorted = placed;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) EXPECT_GE(sorted[i + 1] - sorted[i], 12 - 1e-9);
  EXPECT_GE(sorted.front(), 0);
  EXPECT_LE(sorted.back(), 100);
  EXPECT_LT(placed[1], placed[2]);
  EXPECT_LT(placed[2], placed[0]);
  EXPECT_LT(placed[4], placed[3]);
  EXPECT_TRUE(spread({}, 12, 0, 100).empty());
}

TEST(Escape, MakesTextSafe) {
  EXPECT_EQ(escape("a < b & \"c\" > 'd' √"), "a &lt; b &amp; &quot;c&quot; &gt; &#39;d&#39; √");
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Svg, PointsAreNotJoined) {
  const Axis x = linear_axis("x", 0, 1), y = linear_axis("y", 0, 1);
  const std::string text = svg({"", "", {{"", x, y, {{"", {0, 0.5, 1}, {0, 1, 0}, 3, Stroke::points}}}}});
  EXPECT_EQ(count(text, "<circle"), 3u);
  EXPECT_EQ(count(text, "class=\"dot c3\""), 3u);
  EXPECT_EQ(count(text, "class=\"line "), 0u);
}

TEST(Svg, PanelsGoIntoRows) {
  const Axis x = linear_axis("x", 0, 1), y = linear_axis("y", 0, 1);
  const auto size = [&](std::size_t panels, std::size_t columns) {
    Figure figure{"", "", {}, columns};
    for (std::size_t i = 0; i < panels; ++i) figure.panels.push_back({"", x, y, {}});
    const std::string text = svg(figure);
    const std::size_t at = text.find("viewBox=\"0 0 ") + 13;
    std::size_t end = 0;
    const double width = std::stod(text.substr(at), &end);
    return std::pair(width, std::stod(text.substr(at + end)));
  };
  EXPECT_EQ(size(4, 0), size(4, 9));
  EXPECT_EQ(size(4, 2).first, size(2, 0).first);
  EXPECT_EQ(size(3, 2), size(4, 2));
  EXPECT_GT(size(3, 2).second, 1.7 * size(2, 2).second);
}

TEST(Svg, DrawsEveryLineAndLabel) {
  const double missing = std::numeric_limits<double>::quiet_NaN();
  const Axis x = log2_axis("n", 64, 1024), y = linear_axis("H", 0, 10);
  Figure figure{"Title <1>",
                "sub & title",
                {{"left", x, y, {{"one", {64, 128, 1024}, {1, 2, 3}}, {"two", {64, 128, 1024}, {1, missing, 3}, 1}}},
                 {"right", x, y, {{"strong", {64}, {5}, 0, Stroke::strong}, {"none", {64}, {missing}}}}}};
  const std::string text = svg(figure);
  EXPECT_EQ(count(text, "class=\"line "), 3u);  // a line without points is omitted
  EXPECT_EQ(count(text, ">one</text>"), 1u);
  EXPECT_EQ(count(text, ">strong</text>"), 1u);
  EXPECT_EQ(count(text, ">none</text>"), 0u);
  EXPECT_NE(text.find("Title &lt;1&gt;"), std::string::npos);
  EXPECT_NE(text.find("sub &amp; title"), std::string::npos);
  EXPECT_NE(text.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);
  // Self-contained: the only URL is the XML namespace.
  EXPECT_EQ(count(text, "http"), 1u);
  EXPECT_EQ(count(text, "<text"), count(text, "</text>"));
  EXPECT_EQ(text.rfind("</svg>\n"), text.size() - 7);
}

}  // namespace
}  // namespace isentropic::report
