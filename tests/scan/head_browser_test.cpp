// A head's panel in a real browser: every drawing has the right words on its axes, and weights can be read off.
#include <gtest/gtest.h>

#include "scan/browser_test.hpp"
#include "scan/page.hpp"
#include "scan/page_results.hpp"

namespace isentropic::scan {
namespace {

class HeadInABrowser : public BrowserTest {
 protected:
  nlohmann::json found(const Result& result, const std::string& statements) {
    return found_in(page(result), statements);
  }
};

TEST_F(HeadInABrowser, WeightsCanBeReadOneByOne) {
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
  // Row i gives 20 / (20 + 20 i / (i + 1)) to the previous key.
  EXPECT_TRUE(got[1][0].get<std::string>().starts_with("208 “ word")) << got[1][0];
  EXPECT_TRUE(got[1][1].get<std::string>().ends_with("the weight 0.501")) << got[1][1];
  EXPECT_TRUE(got[1][2].get<std::string>().ends_with("the weight 0.00239")) << got[1][2];
  EXPECT_EQ(got[1][3], "");  // a key after the row's own
  EXPECT_EQ(got[2], 8);
  EXPECT_EQ(got[3], "true,false,false,false,false,false,false,false");
  EXPECT_EQ(got[4], 9);  // row 8 sees only nine
  EXPECT_EQ(got[5].get<std::string>().find("7 ·word"), 0u) << got[5];
  EXPECT_EQ(got[6].get<std::string>().find("all other keys: 0."), 0u) << got[6];
  EXPECT_NE(std::ranges::find(got[7], "<s>"), got[7].end()) << got[7];
}

// What a head's drawings show: the end of the entropy curve, the last bar of the keys, the last block of the matrix and
// its axes, the corner of the tile, the first of the individual rows.
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

TEST_F(HeadInABrowser, EncoderDecodersHaveTheirOwnWordsOnEveryAxis) {
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

TEST_F(HeadInABrowser, ImagesHavePatches) {
  Result result = planted_result();
  result.tokens_of_window.clear();
  result.picture = Picture{"data:image/gif;base64,R0lGODlhAQABAAAAACw=", 16, 16};
  const auto got = found(result,
                         "cell('0.0').click(); all('aside svg')[0].focus(); return [problems,"
                         " all('aside h3')[0].textContent, all('.facts')[0].textContent,"
                         " all('aside .token').length]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_EQ(got[1], "Entropy along the patches");
  EXPECT_NE(got[2].get<std::string>().find("256 patches, 1 window of 256"), std::string::npos) << got[2];
  EXPECT_EQ(got[3], 0);
}

// A head that attends to everything, one that attends to a single key, and the reader's own choice.
TEST_F(HeadInABrowser, FaintWeightsHaveLogColours) {
  const auto got = found(planted_result(),
                         "const log = () => all('aside .choice input').map((x) => x.checked).join();"
                         "cell('0.0').click(); const out = [log()]; cell('1.2').click(); out.push(log());"
                         "all('aside .choice input')[0].click(); cell('0.2').click(); out.push(log());"
                         "return [problems, ...out]");
  EXPECT_EQ(got.dump(), R"([[],"true,true","false,false","true,true"])");
}

// A row of an encoder sees keys on both sides, closer than the window.
TEST_F(HeadInABrowser, TilesEndWhereRowsSeeNothing) {
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

}  // namespace
}  // namespace isentropic::scan
