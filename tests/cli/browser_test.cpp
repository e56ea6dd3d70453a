// Pages in a real browser: the script runs to its end and draws the data, including formulas and on phones.
#include "support/browser.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "io/output_file.hpp"
#include "program.hpp"
#include "report/page.hpp"

namespace cli_test {
namespace {

using support::count, support::drawn, support::found_at_width;

using namespace isentropic::report;
using isentropic::io::write_file;

TEST_F(Program, LongTablesOfACardFold) {
  Card card{.title = "c", .numbers = {.columns = {"quantity", ""}}, .facets = {"f"}};
  for (int r = 0; r < 30; ++r) card.numbers.rows.push_back({"row " + std::to_string(r), r == 25 ? "fails" : ""});
  write_file("page", path("out.html"), html({.title = "t", .parts = {CardList{.facets = {"facet"}, .cards = {card}}}}));
  const std::string page = drawn(path("out.html"));
  EXPECT_EQ(count(page, "<tr class=\"folded\""), 30 - 10 - 1);  // failed rows stay visible
  EXPECT_EQ(count(page, "<tr class=\"fails\""), 1);
  EXPECT_EQ(count(page, "all 30 rows"), 1);
}

TEST_F(Program, HeatMapsDrawThemselves) {
  const HeatMap named{
      .title = "m", .rows = {{0, 1}, {0.5, NAN}}, .row_names = {"layer 0", "layer 1"}, .column_names = {"a", "b"}};
  const HeatMap numbered{.title = "many", .rows = std::vector(64, std::vector(64, 0.5))};
  write_file("page", path("out.html"), html({.title = "t", .subtitle = "s", .parts = {Row{{named, numbered}}, named}}));
  const std::string page = drawn(path("out.html"));
  EXPECT_EQ(count(page, "data:image/png"), 3);
  EXPECT_EQ(count(page, ">layer 1<"), 2);
  EXPECT_EQ(count(page, ">b<"), 2);
  EXPECT_GE(count(page, ">60<"), 1);  // not all 64 are labelled
  EXPECT_EQ(count(page, ">61<"), 0);
}

// Each count links to the cards it counts.
TEST_F(Program, CountsFilterTheCards) {
  const CardList cards{.facets = {"verdict"},
                       .cards = {{.title = "1", .facets = {"holds"}},
                                 {.title = "2", .facets = {"holds-if"}},
                                 {.title = "3", .facets = {"holds"}}}};
  write_file("page", path("out.html"),
             html({.title = "t", .parts = {Counts{{{"verdict", "holds", 2, Tone::good, "true"}}}, cards}}));
  const auto shown = [&](const std::string& action) {
    return found_at_width(path("out.html"), 800, action + ", document.querySelector('.count').textContent");
  };
  EXPECT_EQ(shown("0"), "3 of 3");
  EXPECT_EQ(shown("location.hash = document.querySelector('.counts a').getAttribute('href'), onhashchange()"),
            "2 of 3");
}

struct Setting {
  const char* text;
  std::vector<const char*> holds;  // expected parts of the document
};

TEST_F(Program, FormulasAreTypeset) {
  const std::vector<Setting> settings = {
      {"at most sqrt(2 I / N), in nats", {"at most <math><msqrt><mfrac>", "</math>, in nats"}},
      {"S = e^{-gamma^2/2} here", {"<msup><mi>e</mi><mrow><mo>−</mo>", "<mi>γ</mi><mn>2</mn>", "</math> here"}},
      {"the error falls like n^-1/2", {"<msup><mi>n</mi><mrow><mo>−</mo><mn>1/2</mn></mrow></msup>"}},
      {"Var(Y) EX/EY^3",
       {"<mi>Var</mi><mrow><mo form=\"prefix\" stretchy=\"false\">(</mo><mi>Y</mi>", "<mn>3</mn></msup>"}},
      {"sum_i a_i^2 |v_i - o|^2", {"<mo form=\"prefix\">∑</mo><mi>i</mi>", "<msubsup><mi>a</mi><mi>i</mi><mn>2</mn>"}},
      {"(log n)^2/(2 d) and log n/d", {"<mfrac><msup>", "<mfrac><mrow><mi>log</mi>"}},
      {"for n -> inf", {"for <math><mi>n</mi></math> <math><mo form=\"infix\" lspace=\"0\">→</mo><mi>∞</mi></math>"}},
      {"KL(p(x|y) || uniform) - <p, s>", {"<mo form=\"infix\">∥</mo><mtext>uniform</mtext>", "⟨"}},
      {"dL/dk_+ = (q - E_P[k]) P_+ / tau", {"<msub><mi>k</mi><mo>+</mo></msub>", "<mi>τ</mi></mfrac>"}},
      // Words that only look like formulas.
      {"A top-k row has a key, i.i.d. (see 10.4.18a and 001-P4b)",
       {"<p>A top-k row has a key, i.i.d. (see 10.4.18a and 001-P4b)</p>"}},
      {"log-partition of 16384 keys, 1/2 of them", {"<p>log-partition of 16384 keys, 1/2 of them</p>"}},
      {"run `isentropic lengths --d 2`", {"run <code>isentropic lengths --d 2</code>"}},
      {"a tag <b>bold</b> & more", {"a tag &lt;", "&amp; more"}},
  };
  Prose prose;
  for (const Setting& setting : settings) prose.paragraphs.emplace_back(setting.text);
  write_file("page", path("out.html"), html({.title = "t", .parts = {prose}}));
  const std::string page = drawn(path("out.html"));
  for (const Setting& setting : settings)
    for (const char* part : setting.holds)
      EXPECT_NE(page.find(part), std::string::npos) << setting.text << "\n" << part;
  EXPECT_EQ(count(page, "<b>"), 0);
}

// The decisive numbers fit on a phone's screen: nothing in a card's table extends beyond its right edge.
TEST_F(Program, CardsFitAPhone) {
  Card card{.title = "001-16", .mark = "corrected", .text = "E[X/Y] = EX/EY - Cov(X,Y)/EY^2 + Var(Y) EX/EY^3 + c"};
  card.facts = {
      {"use instead", "a rather long sentence that has to be broken into several lines on a screen like this"}};
  card.numbers = {.columns = {"quantity", "measured", "expected", "as printed"},
                  .rows = {{"mean of a ratio by sampling, n = 16384", "0.123456", "0.123457 ± 0.00012",
                            "expected 0.223457, measured 0.123456: fails"}}};
  card.facets = {"f"};
  write_file("page", path("out.html"), html({.title = "t", .parts = {CardList{.facets = {"facet"}, .cards = {card}}}}));
  const auto found = found_at_width(path("out.html"), 390,
                                    "[innerWidth, document.documentElement.scrollWidth, "
                                    "Math.max(...[...document.querySelectorAll('td')].map((x) => "
                                    "x.getBoundingClientRect().right)), "
                                    "[...document.querySelectorAll('td')].every((x) => x.offsetHeight > 0), "
                                    "getComputedStyle(document.querySelectorAll('td')[1], '::before').content]");
  ASSERT_TRUE(found.is_array()) << found;
  EXPECT_EQ(found[0], 390);
  EXPECT_LE(found[1], 390);
  EXPECT_LE(found[2], 390);
  EXPECT_EQ(found[3], true);
  EXPECT_EQ(found[4], "\"measured\"");
}

}  // namespace
}  // namespace cli_test
