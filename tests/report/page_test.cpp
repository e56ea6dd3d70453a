// Pages: complete, self-contained, and safe whatever the data contains.
#include "report/page.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "report/embedded.hpp"

namespace isentropic::report {
namespace {

// The JSON read by the page's script.
nlohmann::json parts_of(const std::string& page) {
  const std::string open = "id=\"parts\">";
  const std::size_t begin = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

Plot line_plot() {
  return {.title = "t",
          .x_label = "x",
          .y_label = "y",
          .x_scale = PlotScale::log,
          .curves = {{"measured", {1, 2, 3}, {1, std::numeric_limits<double>::quiet_NaN(), 9}},
                     {"limit", {1, 3}, {5, 5}, CurveStyle::bound}}};
}

TEST(Page, HoldsEverythingItShows) {
  const std::string page = html({.title = "A", .subtitle = "B", .parts = {line_plot()}});
  EXPECT_NE(page.find(page_style()), std::string::npos);
  EXPECT_NE(page.find(d3_script()), std::string::npos);
  EXPECT_GT(d3_script().size(), 200000u);
  // Nothing is fetched: no element or style has a URL.
  for (const char* fetch : {"url(", "@import"}) EXPECT_EQ(page_style().find(fetch), std::string_view::npos) << fetch;
  EXPECT_EQ(page.find(" src="), std::string::npos);
  EXPECT_EQ(page.find("<link"), std::string::npos);
  EXPECT_NE(page.find(page_script()), std::string::npos);
  for (const std::string_view script : drawing_scripts()) {
    EXPECT_NE(page.find(script), std::string::npos);
    EXPECT_EQ(script.find("http"), std::string_view::npos);
  }
}

TEST(Page, PartsTravelAsData) {
  Card card{.title = "001-16", .mark = "passed", .tone = Tone::good, .text = "text"};
  card.facts = {{"use", "this"}};
  card.numbers = {.title = "", .columns = {"a"}, .rows = {{"1"}}};
  card.plots = {line_plot()};
  card.facets = {"001"};
  card.origin = "equation (16)";
  const auto parts =
      parts_of(html({.title = "A",
                     .subtitle = "B",
                     .parts = {Prose{"H", {"p"}}, line_plot(), HeatMap{.title = "m", .rows = {{0, 1}, {0.5, 0.25}}},
                               CardList{.facets = {"source"}, .cards = {card}},
                               Row{{line_plot(), HeatMap{.title = "named", .rows = {{1}}, .row_names = {"head 0"}}}},
                               Counts{{{"source", "001", 1, Tone::changed, "meaning"}}},
                               Glossary{.heading = "R", .entries = {{"001", "a text", "https://example.org"}}}}}));
  ASSERT_EQ(parts.size(), 7u);
  EXPECT_EQ(parts[4]["parts"][0]["kind"], "plot");
  EXPECT_EQ(parts[4]["parts"][1]["row_names"][0], "head 0");
  EXPECT_EQ(parts[0]["heading"], "H");
  EXPECT_EQ(parts[1]["x_scale"], "log");
  EXPECT_TRUE(parts[1]["curves"][0]["y"][1].is_null());  // NaN: omitted by the script
  EXPECT_EQ(parts[1]["curves"][1]["style"], "bound");
  EXPECT_EQ(parts[2]["rows"][1][0], 0.5);
  EXPECT_EQ(parts[3]["cards"][0]["facts"][0][1], "this");
  EXPECT_EQ(parts[3]["cards"][0]["tone"], "good");
  EXPECT_EQ(parts[3]["cards"][0]["plots"].size(), 1u);
  EXPECT_EQ(parts[3]["cards"][0]["origin"], "equation (16)");
  EXPECT_EQ(parts[5]["counts"][0]["number"], 1);
  EXPECT_EQ(parts[5]["counts"][0]["tone"], "changed");
  EXPECT_EQ(parts[6]["entries"][0]["address"], "https://example.org");
}

TEST(Page, ACurveMayNameItsColour) {
  Plot plot = line_plot();
  plot.curves[0].colour = 5;
  const auto parts = parts_of(html({.title = "t", .parts = {plot}}));
  EXPECT_EQ(parts[0]["curves"][0]["colour"], 5);
  EXPECT_TRUE(parts[0]["curves"][1]["colour"].is_null());
}

TEST(Page, FramesTravelByPlaneAndFrame) {
  const Frames::Series moving{"layer 1", {{1, 2}, {3, 4}}, {{5, 6}, {7, std::numeric_limits<double>::quiet_NaN()}}};
  const auto parts =
      parts_of(html({.title = "t", .parts = {Frames{.names = {"a", "b"}, .planes = {{"p", {moving}}}}}}));
  EXPECT_EQ(parts[0]["kind"], "frames");
  EXPECT_EQ(parts[0]["names"][1], "b");
  EXPECT_EQ(parts[0]["planes"][0]["series"][0]["x"][1][0], 3);
  EXPECT_TRUE(parts[0]["planes"][0]["series"][0]["y"][1][1].is_null());
}

TEST(Page, TextStaysText) {
  const std::string evil = "</script><script>alert(1)</script><!-- & \"";
  const std::string page = html({.title = evil, .subtitle = evil, .parts = {Prose{evil, {evil}}}});
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(parts_of(page)[0]["heading"], evil);
  // Invalid UTF-8 is replaced instead of throwing.
  EXPECT_NO_THROW(html({.title = "t", .subtitle = "", .parts = {Prose{"\xff\xfe", {}}}}));
}

}  // namespace
}  // namespace isentropic::report
