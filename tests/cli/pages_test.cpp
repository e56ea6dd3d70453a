// The commands' pages as rendered by a browser.
#include <gtest/gtest.h>

#include <set>

#include "program.hpp"
#include "support/browser.hpp"

namespace cli_test {
namespace {

using support::count, support::drawn, support::found_at_width;

TEST_F(Program, TheLedgersPageDrawsItself) {
  ASSERT_EQ(run_program({"verify", "004-5", "004-6", "--html", path("out.html")}).status, 0);
  const std::string page = drawn(path("out.html"));
  EXPECT_EQ(count(page, "class=\"card\""), 7);
  EXPECT_EQ(count(page, "<select"), 3);
  EXPECT_GE(count(page, "<svg"), 1);
  EXPECT_NE(page.find("7 of 7"), std::string::npos);  // the last thing the script writes
  // "004 sparsity" is not a number, the count next to it is.
  EXPECT_EQ(count(page, "<th class=\"number\">source"), 0);
  EXPECT_EQ(count(page, "<th class=\"number\">claims"), 1);
}

// 001-15 holds, 001-16 was corrected, 001-17 holds under a condition.
TEST_F(Program, TheLedgersPageCountsVerdictsAndBeginsWithWhatWasCorrected) {
  ASSERT_EQ(run_program({"verify", "001-14", "001-16", "001-17", "--html", path("out.html")}).status, 0);
  const std::string page = drawn(path("out.html"));
  for (const char* verdict : {"corrected", "holds-if", "holds"})
    EXPECT_EQ(count(page, "<strong>1</strong><span class=\"label\">" + std::string(verdict) + "<"), 1) << verdict;
  EXPECT_LT(page.find("<strong>1</strong>"), page.find("class=\"card\""));
  const std::size_t corrected = page.find("class=\"title\">001-16<"), limited = page.find("class=\"title\">001-17<");
  EXPECT_LT(corrected, limited);
  EXPECT_LT(limited, page.find("class=\"title\">001-14,15<"));
  // Its location in the source, and the source's name.
  EXPECT_EQ(count(page, "section 3, equation (16) · 001 robustness and entropy"), 1);
  EXPECT_EQ(count(page, "<a href=\"https://spaces.ac.cn/archives/9593\""), 1);
  EXPECT_GE(count(page, "<mi>Cov</mi>"), 2);
}

TEST_F(Program, TheLedgersPageFitsAPhone) {
  ASSERT_EQ(run_program({"verify", "001-16", "004-9", "004-1", "--html", path("out.html")}).status, 0);
  const auto widths =
      found_at_width(path("out.html"), 390,
                     "[document.documentElement.scrollWidth, Math.max(...[...document.querySelectorAll("
                     "'.card td, .card .mark, .counts a')].map((x) => x.getBoundingClientRect().right))]");
  ASSERT_TRUE(widths.is_array()) << widths;
  EXPECT_LE(widths[0], 390);
  EXPECT_LE(widths[1], 390);
}

TEST_F(Program, TheCurvesOfSparsityDrawThemselves) {
  ASSERT_EQ(run_program({"sparsity", "--keys", "100", "--html", path("out.html")}).status, 0);
  const std::string page = drawn(path("out.html"));
  // relu² and identity, features and Taylor, decay over n and over lambda.
  EXPECT_EQ(count(page, "<svg"), 6);
  EXPECT_EQ(count(page, "class=\"curve\""), (8 + 6) + (6 + 4) + (6 + 7));
  EXPECT_EQ(count(page, "class=\"dot\""), 10 * (8 + 6) + (6 * 8 + 4 * 10) + (6 * 7 + 7 * 12));
  EXPECT_EQ(count(page, "<tr"), (1 + 13 * 10) + (1 + 6 * 8) + (1 + 3 * 10) + (1 + 12 * 7));
}

// β = 0.5 has the same colour in the plots of relu² and of the identity, and no two labels share a colour.
TEST_F(Program, ThePlotsOfSparsityShareTheirColours) {
  ASSERT_EQ(run_program({"sparsity", "--keys", "100", "--html", path("out.html")}).status, 0);
  const auto legends = found_at_width(
      path("out.html"), 1000,
      "[...document.querySelectorAll('.legend')].map((legend) => Object.fromEntries([...legend.querySelectorAll("
      "'i:not(.bound)')].map((mark) => [mark.nextSibling.textContent, mark.style.borderColor])))");
  ASSERT_EQ(legends.size(), 6u) << legends;
  EXPECT_EQ(legends[0].size(), 8u);
  EXPECT_EQ(legends[1].size(), 6u);
  nlohmann::json all = legends[0];
  for (const auto& [label, colour] : legends[1].items()) {
    EXPECT_EQ(all.value(label, colour), colour) << label;
    all[label] = colour;
  }
  std::set<std::string> colours;
  for (const auto& [label, colour] : all.items()) EXPECT_TRUE(colours.insert(colour).second) << label;
  EXPECT_EQ(colours.size(), 9u);
}

class FirstPlot : public Program {
 protected:
  // The value of `expression`, in which `plot` is the first plot of a page.
  nlohmann::json found(const std::string& expression) {
    EXPECT_EQ(run_program({"sparsity", "--keys", "100", "--html", path("out.html")}).status, 0);
    return found_at_width(path("out.html"), 1000,
                          "(() => { const plot = document.querySelector('.plot'); " + expression + " })()");
  }
};

TEST_F(FirstPlot, PointingAtALabelFadesTheOtherCurves) {
  const auto counts = found(
      "const count = (selector) => plot.querySelectorAll(selector).length, label = plot.querySelector('.legend span');"
      "const at = (event) => { label.dispatchEvent(new MouseEvent(event)); return count('.series.faded'); };"
      "return [count('.series'), count('.series.faded'), at('mouseenter'), at('mouseleave')];");
  ASSERT_TRUE(counts.is_array()) << counts;
  EXPECT_GE(counts[0], 8);
  EXPECT_EQ(counts[1], 0);
  EXPECT_EQ(counts[2], counts[0].get<int>() - 1);
  EXPECT_EQ(counts[3], 0);
}

TEST_F(FirstPlot, ThePointNearestToThePointerIsNamed) {
  const auto texts = found(
      "const text = (selector) => plot.querySelector(selector).textContent;"
      "const dot = plot.querySelector('.dot').getBoundingClientRect();"
      "const at = { clientX: dot.x + dot.width / 2, clientY: dot.y + dot.height / 2 };"
      "plot.querySelector('svg').dispatchEvent(new MouseEvent('mousemove', at));"
      "return [text('.legend .value'), text('.legend span')];");
  ASSERT_TRUE(texts.is_array()) << texts;
  const auto value = texts[0].get<std::string>(), label = texts[1].get<std::string>();
  EXPECT_TRUE(value.starts_with(label + ": ")) << texts;
  EXPECT_NE(value.find(" → "), std::string::npos) << texts;
}

TEST_F(Program, TheNoisePageShowsFormulasMeasurementsAndAttacks) {
  ASSERT_EQ(run_program({"noise", "--draws", "20", "--html", path("out.html")}).status, 0);
  const std::string page = drawn(path("out.html"));
  EXPECT_EQ(count(page, "<svg"), 2 + 3);
  EXPECT_EQ(count(page, "class=\"curve\""), 6 + 6 + 3 * 3);
  EXPECT_EQ(count(page, "class=\"dot\""), 4 * 6 + 4 * 6 + 3 * 3 * 3);
  for (const char* part : {"Gaussian, sigma = 1", "Values, c = 0.5", "share of the best gain", "<msqrt>"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(count(page, "<tr"), (1 + 6) + (1 + 9) + (1 + 6 * 4));
}

// Laplace noise with b = 0.75 has no prediction: only the measurements are drawn.
TEST_F(Program, TheNoisePageDoesWithoutAPrediction) {
  ASSERT_EQ(
      run_program({"noise", "--family", "laplace", "--strength", "0.75", "--draws", "20", "--html", path("out.html")})
          .status,
      0);
  const std::string page = drawn(path("out.html"));
  EXPECT_EQ(count(page, " (no prediction)"), 2);
  EXPECT_EQ(count(page, "class=\"dot\""), 4 + 4 + 3 * 3 * 3);
}

TEST_F(Program, TheLengthsPageExplainsItself) {
  ASSERT_EQ(
      run_program({"lengths", "--quick", "--laws", "inverse_sqrt_d,log_n,target_entropy", "--html", path("out.html")})
          .status,
      0);
  const std::string page = drawn(path("out.html"));
  EXPECT_EQ(count(page, "<svg"), 2);
  for (const char* heading : {"What is drawn", "What to read off", "What was found", "The laws", "What to do with it"})
    EXPECT_EQ(count(page, "<h2>" + std::string(heading) + "</h2>"), 1) << heading;
  // Every law drawn is explained, and so is the effect of the usual one.
  EXPECT_EQ(count(page, "<dt>"), 4);
  EXPECT_EQ(count(page, "</dt><dd>the entropy-invariant scale as it was proposed"), 1);
  EXPECT_NE(page.find("% of the weight among 64 keys"), std::string::npos);
}

}  // namespace
}  // namespace cli_test
