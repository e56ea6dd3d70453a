// The page of a scan in a real browser: it draws itself without a complaint, and mouse and keyboard reach every head.
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
  EXPECT_EQ(got[4], 3);  // loss and entropy by length, heads that look alike
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

TEST_F(PageInABrowser, WeightsCanBeReadOneByOne) {
  const auto got = found(
      planted_result(),
      "cell('0.1').click(); const section = (title) => all('aside section').find((x) => x.querySelector('h3')"
      ".textContent.startsWith(title)); const tile = section('Weights one by one').querySelector('svg');"
      "const press_in = (key) => tile.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));"
      "const read = () => section('Weights one by one').querySelector('.value').textContent; tile.focus();"
      "const texts = [read()]; press_in('ArrowDown'); texts.push(read()); press_in('ArrowRight'); texts.push(read());"
      "press_in('ArrowRight'); texts.push(read());"
      "const rows = [...section('The heaviest keys').querySelectorAll('details')];"
      "const keys = [...rows[0].querySelectorAll('.where')].map((x) => x.textContent);"
      "return [problems, texts, rows.length, rows.map((x) => x.open).join(), keys.length, keys[0],"
      " rows[1].querySelector('.note').textContent, all('aside .token.special').map((x) => x.textContent)]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  // Row i gives 20 / (20 + 20 i / (i + 1)) to the key before it.
  EXPECT_TRUE(got[1][0].get<std::string>().starts_with("208 “ word")) << got[1][0];
  EXPECT_TRUE(got[1][1].get<std::string>().ends_with("the weight 0.501")) << got[1][1];
  EXPECT_TRUE(got[1][2].get<std::string>().ends_with("the weight 0.00239")) << got[1][2];
  EXPECT_EQ(got[1][3], "");  // a key after the row
  EXPECT_EQ(got[2], 8);
  EXPECT_EQ(got[3], "true,false,false,false,false,false,false,false");
  EXPECT_EQ(got[4], 9);  // row 8 sees no more
  EXPECT_EQ(got[5].get<std::string>().find("7 ·word"), 0u) << got[5];
  EXPECT_EQ(got[6].get<std::string>().find("all other keys: 0."), 0u) << got[6];
  EXPECT_NE(std::ranges::find(got[7], "<s>"), got[7].end()) << got[7];
}

// What can be read in the drawings of a head: the end of the entropy curve, the last bar of the keys, the last block of
// the matrix and its axes, the corner of the tile, the first of the single rows.
constexpr const char* kReadDrawings =
    "const section = (title) => all('aside section').find((x) => x.querySelector('h3').textContent.startsWith(title));"
    "const text = (part, css) => [...part.querySelectorAll(css)].map((x) => x.textContent).join(' ');"
    "const to_the_end = (part, keys) => { const svg = part.querySelector('svg'); svg.focus(); for (const key of keys)"
    " for (let i = 0; i < 130; ++i) svg.dispatchEvent(new KeyboardEvent('keydown', {key})); return part; };"
    "const read_head = (name) => { cell(name).click();"
    " const curve = to_the_end(section('Entropy along'), ['ArrowRight']), tile = to_the_end(section('Weights one'), "
    "[]);"
    " const matrix = to_the_end(section('Weights, averaged'), ['ArrowRight', 'ArrowDown']);"
    " const keys = to_the_end(section('Weight of keys'), ['ArrowRight']), rows = section('The heaviest keys');"
    " return [text(curve, 'h3'), text(curve, '.readout strong').split(':')[0], text(curve, '.token'),"
    "  curve.querySelectorAll('path.bound').length, text(keys, '.readout').split(':')[0],"
    "  text(matrix, '.value').split(' →')[0], text(matrix, 'svg').match(/key,.*/)[0],"
    "  text(tile, '.value').split(' the weight')[0], text(rows, 'details:first-of-type summary'),"
    "  rows.querySelector('.where').textContent].join('\\n'); };";

TEST_F(PageInABrowser, EncoderDecodersHaveTheirOwnWordsOnEveryAxis) {
  const auto got = found(encoder_decoder_result(),
                         std::string(kReadDrawings) + "return [problems, ...['0.0', '1.0', '2.0'].map(read_head)]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_EQ(got[1],
            "Entropy along the text that it reads\n199\n</s>\n1\nheaviest key of 199\n196, 196\n"
            "key, in the text that it readsquery, in the text that it reads\n152 “ read152” gives 152 “ read152”\n"
            "row 8 ·read8\n5 ·read5");
  EXPECT_EQ(
      got[2],
      "Entropy along the text that it writes\n298–299\n·wrote298 ·wrote299\n1\nheaviest key of 298–299\n294, 294\n"
      "key, in the text that it writesquery, in the text that it writes\n252 “ wrote252” gives 252 “ wrote252”\n"
      "row 8 ·wrote8\n7 ·wrote7");
  EXPECT_EQ(got[3],
            "Entropy along the text that it writes\n298–299\n·wrote298 ·wrote299\n1\nheaviest key of 199\n294, 196\n"
            "key, in the text that it readsquery, in the text that it writes\n252 “ wrote252” gives 152 “ read152”\n"
            "row 8 ·wrote8\n5 ·read5");
}

TEST_F(PageInABrowser, ImagesHavePatches) {
  Result result = planted_result();
  result.tokens_of_window.clear();
  result.picture = Picture{"data:image/gif;base64,R0lGODlhAQABAAAAACw=", 16, 16};
  const auto got = found(result,
                         "cell('0.0').click(); all('aside svg')[0].focus(); return [problems,"
                         " all('aside h3')[0].textContent, all('.facts')[0].textContent,"
                         " all('aside .readout .token').length]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_EQ(got[1], "Entropy along the patches");
  EXPECT_NE(got[2].get<std::string>().find("256 patches, 1 window of 256"), std::string::npos) << got[2];
  EXPECT_EQ(got[3], 0);
}

// A row of an encoder sees keys on both sides, nearer than the window.
TEST_F(PageInABrowser, TilesEndWhereRowsSeeNothing) {
  Result result = planted_result();
  result.layers[1].description.kind = Kind::encoder, result.layers[1].description.window = 10;
  const auto got = found(
      result,
      "cell('1.2').click(); const section = all('aside section').find((x) => x.textContent.startsWith('Weights one'));"
      "const svg = section.querySelector('svg'), read = () => section.querySelector('.value').textContent; svg.focus();"
      "const right = () => svg.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'}));"
      "for (let i = 0; i < 9; ++i) right(); const out = [read()]; right(); out.push(read()); return [problems, out]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_NE(got[1][0].get<std::string>().find(" gives 217 “ word"), std::string::npos) << got[1][0];
  EXPECT_EQ(got[1][1], "");
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
  EXPECT_EQ(steps[2], "1.1");  // the edge
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

// 0.10 comes after 0.9, and what was not measured before every number.
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
  EXPECT_EQ(got[4], "Heads with other labels");
  EXPECT_EQ(got[5][0], "models/<b>books</b>models/tuned");  // both losses in one picture
}

TEST_F(PageInABrowser, ThePanelOfAComparisonHasBothAndFollowsTheKeyboard) {
  const auto got = found(
      compare(planted_result(), planted_change()),
      "all('.cell[tabindex=\"0\"]')[0].focus(); press('ArrowRight'); const tip = all('.tooltip')[0].textContent;"
      "press('Enter'); const panel = () => all('aside')[0];"
      "const out = [all('aside h2')[0].textContent, ...all('.verdict strong').map((x) => x.textContent)];"
      "const curves = all('aside svg')[0].querySelectorAll('.curve:not(.bound)').length;"
      "const value = all('.statistics dd.value')[all('.statistics dt').findIndex((x) => x.textContent === 'peak')];"
      "const curve = all('aside svg')[0]; curve.focus(); curve.dispatchEvent(new KeyboardEvent('keydown', {key: "
      "'ArrowRight'})); const readout = all('aside .readout strong')[0].textContent; const images = all('aside image');"
      "all('aside button')[1].click(); out.push(all('aside h2')[0].textContent); press('Escape');"
      "return [problems, out, tip, curves, value.textContent, readout, images.length, panel().hidden]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_EQ(got[1].dump(), R"(["Head 0.1","lost: previous token","gained: sink","Head 0.2"])");
  const std::string tip = got[2];
  EXPECT_NE(tip.find("lost previous token; gained sink"), std::string::npos) << tip;
  EXPECT_EQ(got[3], 2);
  EXPECT_EQ(got[4], "0.5 → 0.75  +0.25");
  const std::string readout = got[5];
  EXPECT_EQ(readout.find("2–3: "), 0u) << readout;
  EXPECT_NE(readout.find(" → "), std::string::npos) << readout;
  EXPECT_EQ(got[6], 4);  // a matrix and a tile of each
  EXPECT_EQ(got[7], true);
}

// Lengths, terms and curves of the two need not be the same.
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
