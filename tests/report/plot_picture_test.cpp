// Plots as pictures: axes, strokes, colours.
#include "report/plot_picture.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace isentropic::report {
namespace {

TEST(PlotPicture, AxesHoldEveryCurve) {
  const Panel panel = panel_of({.title = "t",
                                .x_label = "x",
                                .y_label = "y",
                                .curves = {{.x = {1, 5}, .y = {-3, NAN}}, {.x = {0, 2}, .y = {0.5, 7}}}});
  EXPECT_EQ(panel.title, "t: y");
  EXPECT_EQ(panel.x.low, 0);
  EXPECT_EQ(panel.x.high, 5);
  EXPECT_LE(panel.y.low, -3);
  EXPECT_GE(panel.y.high, 7);
}

TEST(PlotPicture, WholeNumbersHavePowersOfTwoOthersOfTen) {
  const Plot lengths{.x_scale = PlotScale::log, .curves = {{.x = {49, 784}, .y = {0, 1}}}};
  EXPECT_EQ(panel_of(lengths).x.low, 32);
  EXPECT_EQ(panel_of(lengths).x.high, 1024);
  const Plot prices{.x_scale = PlotScale::log, .curves = {{.x = {1e-5, 0.1}, .y = {0, 1}}}};
  const Axis axis = panel_of(prices).x;
  ASSERT_EQ(axis.ticks.size(), 5u);
  EXPECT_EQ(axis.ticks[1].label, "0.0001");
  EXPECT_NEAR(axis.position(1e-3), 0.5, 1e-12);
  const Plot temperatures{.x_scale = PlotScale::log, .curves = {{.x = {0.05, 1}, .y = {0, 1}}}};
  EXPECT_EQ(panel_of(temperatures).x.ticks[1].label, "0.02");  // fewer than three decades: 1, 2 and 5
  EXPECT_TRUE(std::isfinite(panel_of({.x_scale = PlotScale::log}).x.position(1)));  // no data
}

TEST(PlotPicture, CurvesKeepTheirColours) {
  const Panel panel = panel_of({.curves = {{.label = "a", .x = {0}, .y = {0}},
                                           {.label = "its points", .x = {0}, .y = {0}, .style = CurveStyle::points},
                                           {.label = "limit", .x = {0}, .y = {0}, .style = CurveStyle::bound},
                                           {.label = "ours", .x = {0}, .y = {0}, .colour = kInk},
                                           {.label = "b", .x = {0}, .y = {0}}}});
  EXPECT_EQ(panel.lines[0].colour, 0);
  EXPECT_EQ(panel.lines[1].colour, 0);
  EXPECT_EQ(panel.lines[1].stroke, Stroke::points);
  EXPECT_EQ(panel.lines[2].stroke, Stroke::ceiling);
  EXPECT_EQ(panel.lines[3].stroke, Stroke::strong);
  EXPECT_EQ(panel.lines[4].colour, 1);
}

}  // namespace
}  // namespace isentropic::report
