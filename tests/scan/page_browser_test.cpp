// A scan's page in a real browser: it renders without errors, and mouse and keyboard reach every head.
#include <gtest/gtest.h>

#include "scan/browser_test.hpp"
#include "scan/page.hpp"
#include "scan/page_results.hpp"

namespace isentropic::scan {
namespace {

class PageInABrowser : public BrowserTest {
 protected:
  template <class Scanned>
  nlohmann::json found(const Scanned& scanned, const std::string& statements, int width = 1200) {
    return found_in(page(scanned), statements, width);
  }
};

TEST_F(PageInABrowser, LoadsWithoutProblemsOrRequests) {
  const auto got = found(planted_result(),
                         "const fetched = performance.getEntriesByType('resource').map((x) => x.name)"
                         ".filter((name) => !name.startsWith('data:'));"
                         "return [problems, fetched, all('.cell').length, all('.sentence').length, all('.plot').length,"
                         " all('h1')[0].textContent, all('aside')[0].hidden]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_EQ(got[1].size(), 0u) << got[1];
  EXPECT_EQ(got[2], 6);
  EXPECT_EQ(got[3], 3);
  EXPECT_EQ(got[4], 3);  // loss and entropy by length, similar heads
  EXPECT_EQ(got[5], "models/<b>books</b>");
  EXPECT_EQ(got[6], true);
}

TEST_F(PageInABrowser, AClickOpensAHeadAndItsTokensAreText) {
  const auto got =
      found(planted_result(),
            "cell('0.2').click(); const panel = all('aside')[0];"
            "const curve = all('aside svg')[0]; curve.focus();"
            "return [problems, panel.hidden, all('aside h2')[0].textContent, all('.verdict')[0].textContent,"
            " all('aside .token').map((x) => x.textContent), all('img').length,"
            " all('aside image').length, location.hash]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_EQ(got[1], false);
  EXPECT_EQ(got[2], "Head 0.2");
  const std::string verdict = got[3];
  for (const char* part : {"sink", "0.507", "≥ 0.3", "key 0"})
    EXPECT_NE(verdict.find(part), std::string::npos) << verdict;
  EXPECT_NE(std::ranges::find(got[4], "</script><img·src=x·onerror=alert(1)>"), got[4].end()) << got[4];
  EXPECT_EQ(got[5], 0);
  EXPECT_EQ(got[6], 2);  // the matrix and the tile
  EXPECT_EQ(got[7], "#head=0.2");
}

TEST_F(PageInABrowser, HeadsThatLookAlikeAreNamed) {
  const auto got = found(
      planted_result(),
      "const section = all('main section').find((x) => x.textContent.startsWith('Heads that look alike'));"
      "const svg = () => section.querySelector('svg'), read = () => section.querySelector('.value').textContent;"
      "svg().focus(); const out = [read()]; svg().dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'}));"
      "out.push(read()); const select = all('#alike-layer')[0]; select.value = '1';"
      "select.dispatchEvent(new Event('change')); svg().focus(); out.push(read()); return [problems, out]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_EQ(got[1][0], "heads 0.0 and 0.0: similarity 1");
  EXPECT_EQ(got[1][1].get<std::string>().find("heads 0.0 and 0.1: similarity 0."), 0u) << got[1][1];
  EXPECT_EQ(got[1][2], "heads 1.0 and 1.0: similarity 1");
}

TEST_F(PageInABrowser, TheKeyboardWalksOpensAndCloses) {
  const auto got =
      found(planted_result(),
            "all('.cell[tabindex=\"0\"]')[0].focus(); const steps = [];"
            "const note = () => steps.push(document.activeElement.dataset.head || document.activeElement.tagName);"
            "for (const key of ['ArrowRight', 'ArrowDown', 'ArrowDown', 'ArrowLeft']) { press(key); note(); }"
            "const tip = all('.tooltip')[0]; steps.push(!tip.hidden && tip.textContent);"
            "press('Enter'); note(); steps.push(all('aside h2')[0].textContent);"
            "press('Escape'); note(); steps.push(all('aside')[0].hidden);"
            "steps.push(all('.cell[tabindex=\"0\"]').length); return [problems, steps]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  const auto& steps = got[1];
  EXPECT_EQ(steps[0], "0.1");
  EXPECT_EQ(steps[1], "1.1");
  EXPECT_EQ(steps[2], "1.1");  // stops at the edge
  EXPECT_EQ(steps[3], "1.0");
  const std::string tip = steps[4];
  EXPECT_EQ(tip.find("Head 1.0normalised entropy 0."), 0u) << tip;
  EXPECT_NE(tip.find("retrieval"), std::string::npos) << tip;
  EXPECT_EQ(steps[5], "ASIDE");
  EXPECT_EQ(steps[6], "Head 1.0");
  EXPECT_EQ(steps[7], "1.0");
  EXPECT_EQ(steps[8], true);
  EXPECT_EQ(steps[9], 1);
}

TEST_F(PageInABrowser, ALabelDimsTheOthers) {
  const auto got = found(planted_result(),
                         "const bright = () => all('.cell:not(.dimmed)').map((x) => x.dataset.head);"
                         "const button = (label) => all(`.filter[data-label=${label}]`)[0];"
                         "const out = [bright().length]; button('sink').click(); out.push(bright());"
                         "out.push(button('sink').getAttribute('aria-pressed')); button('local').click();"
                         "out.push(bright()); button('sink').click(); button('local').click();"
                         "out.push(bright().length); return [problems, out]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_EQ(got[1].dump(), R"([6,["0.2"],"true",["0.2","1.2"],6])");
}

TEST_F(PageInABrowser, StatisticsColourTheMapAndTablesLeadToHeads) {
  Result result = planted_result();
  result.heads[1].statistics["entropy"] = {kNotMeasured, kNotMeasured};
  const auto got =
      found(result,
            "const select = all('#statistic')[0]; select.value = 'entropy';"
            "select.dispatchEvent(new Event('change')); const out = [cell('0.1').textContent];"
            "out.push(cell('0.0').style.background !== cell('1.2').style.background);"
            "location.hash = all('td a').find((x) => x.textContent === '1.1').getAttribute('href');"
            "dispatchEvent(new Event('hashchange')); out.push(all('aside h2')[0].textContent);"
            "all('aside p a')[0].click(); return [problems, out, all('aside p a')[0].getAttribute('href')]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_EQ(got[1].dump(), R"(["–",true,"Head 1.1"])");
  EXPECT_EQ(got[2].get<std::string>().find("#head="), 0u);
}

// 0.10 sorts after 0.9, and unmeasured values before all numbers.
TEST_F(PageInABrowser, TablesSortByHeadAndByNumber) {
  Result result = large_result(1, 12, 1024);
  for (std::size_t h = 0; h < 12; ++h)
    result.heads[h].statistics["entropy"] = {h == 5 ? kNotMeasured : 12.0 - double(h), 0};
  const auto got =
      found(result,
            "const table = all('table').find((x) => x.querySelector('td a'));"
            "const heading = (name) => [...table.querySelectorAll('th')].find((x) => x.textContent === name);"
            "const names = () => [...table.querySelectorAll('td a')].map((x) => x.textContent).join(' ');"
            "const out = []; heading('entropy').dispatchEvent(new Event('click')); out.push(names());"
            "heading('head').dispatchEvent(new Event('click')); out.push(names()); return [problems, out]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_EQ(got[1][0], "0.5 0.11 0.10 0.9 0.8 0.7 0.6 0.4 0.3 0.2 0.1 0.0");
  EXPECT_EQ(got[1][1], "0.0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 0.10 0.11");
}

// A thousand heads on a phone: the map scrolls, the page does not; the panel covers the screen.
TEST_F(PageInABrowser, ALargeModelFitsAPhone) {
  const auto got =
      found(large_result(32, 32, 4096),
            "const wide = () => document.documentElement.scrollWidth; const out = [wide()];"
            "const map = all('.map-scroll')[0]; out.push(map.scrollWidth > map.clientWidth);"
            "cell('31.31').click(); out.push(wide(), Math.round(all('aside')[0].getBoundingClientRect().width));"
            "cell('7.7').click(); out.push(Math.max(...all('aside svg').map((x) => x.getBoundingClientRect().right)));"
            "return [problems, out]",
            375);
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_LE(got[1][0], 375);
  EXPECT_EQ(got[1][1], true);
  EXPECT_LE(got[1][2], 375);
  EXPECT_EQ(got[1][3], 375);
  EXPECT_LE(got[1][4], 375);
}

TEST_F(PageInABrowser, AComparisonShowsDifferencesAndWhatChanged) {
  const auto got = found(
      compare(planted_result(), planted_change()),
      "const select = (id, value) => { const x = all(id)[0]; x.value = value; x.dispatchEvent(new Event('change')); };"
      "const bright = () => all('.cell:not(.dimmed)').map((x) => x.dataset.head).join();"
      "const button = (label) => all(`.filter[data-label='${label}']`)[0]; const out = [];"
      "select('#statistic', 'peak'); out.push(cell('0.1').textContent, cell('0.0').textContent, "
      "cell('0.2').textContent);"
      "out.push(cell('0.1').style.background !== cell('0.2').style.background);"
      "select('#view', '1'); out.push(cell('0.1').textContent); select('#view', '0'); "
      "out.push(cell('0.1').textContent);"
      "button('changed').click(); out.push(bright()); button('changed').click(); button('gained sink').click();"
      "out.push(bright()); return [problems, out, all('.sentence').length, all('h1')[0].textContent,"
      " all('h2')[0].textContent, all('.plot .legend').map((x) => x.textContent)]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_EQ(got[1].dump(), R"(["+0.250","–","0.000",true,"0.75","0.50","0.1,1.0,1.2","0.1"])");
  EXPECT_EQ(got[2], 3);
  EXPECT_EQ(got[3], "models/<b>books</b> → models/tuned");
  EXPECT_EQ(got[4], "Heads whose labels changed");
  EXPECT_EQ(got[5][0], "models/<b>books</b>models/tuned");  // both losses in one plot
}

TEST_F(PageInABrowser, ThePanelOfAComparisonHasBothAndFollowsTheKeyboard) {
  const auto got = found(
      compare(planted_result(), planted_change()),
      "all('.cell[tabindex=\"0\"]')[0].focus(); press('ArrowRight'); const tip = all('.tooltip')[0].textContent;"
      "press('Enter'); const panel = () => all('aside')[0];"
      "const out = [all('aside h2')[0].textContent, ...all('.verdict strong').map((x) => x.textContent)];"
      "out.push(all('.verdict span')[0].textContent);"
      "const curves = all('aside svg')[0].querySelectorAll('.curve:not(.bound)').length;"
      "const value = all('.statistics dd.value')[all('.statistics dt').findIndex((x) => x.textContent === 'peak')];"
      "const curve = all('aside svg')[0]; curve.focus(); curve.dispatchEvent(new KeyboardEvent('keydown', {key: "
      "'ArrowRight'})); const readout = all('aside .readout strong')[0].textContent; const images = all('aside image');"
      "all('aside button')[1].click(); out.push(all('aside h2')[0].textContent); press('Escape');"
      "return [problems, out, tip, curves, value.textContent, readout, images.length, panel().hidden]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_EQ(got[1].dump(),
            R"(["Head 0.1","lost: previous token","gained: sink","Before: it looks at the token before.","Head 0.2"])");
  const std::string tip = got[2];
  EXPECT_NE(tip.find("lost previous token; gained sink"), std::string::npos) << tip;
  EXPECT_EQ(got[3], 2);
  EXPECT_EQ(got[4], "0.5 → 0.75  +0.25");
  const std::string readout = got[5];
  EXPECT_EQ(readout.find("2–3: "), 0u) << readout;
  EXPECT_NE(readout.find(" → "), std::string::npos) << readout;
  EXPECT_EQ(got[6], 4);  // a matrix and a tile for each
  EXPECT_EQ(got[7], true);
}

// The two may have different lengths, terms and curves.
TEST_F(PageInABrowser, ResultsOfTwoLengthsAreCompared) {
  Result second = large_result(2, 3, 4096);
  second.heads[0].statistics.erase("entropy"), second.heads[1].blocks.clear(), second.heads[2].entropy_curve.clear();
  second.lengths.clear();
  const auto got = found(compare(large_result(2, 3, 1024), second),
                         "for (const head of ['0.0', '0.1', '0.2', '1.2']) { cell(head).click();"
                         " all('aside svg').forEach((x) => x.focus()); }"
                         "const wide = document.documentElement.scrollWidth; return [problems, wide]",
                         375);
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_LE(got[1], 375);
}

TEST_F(PageInABrowser, AnEmptyResultDrawsItself) {
  const auto got = found(Result{}, "return [problems, all('h2').length]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_GE(got[1], 3);
  const auto both = found(compare(Result{}, Result{}), "return problems");
  EXPECT_EQ(both.dump(), "[]");
}

}  // namespace
}  // namespace isentropic::scan
